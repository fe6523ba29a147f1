// The beginning: everything is set up, then the calls are followed.

startTheme();
startFilter();
startList();
startOrder();
startQuestions();
startKeys();
startDivider();
startToken();
readFragment();
shownCall.byHand = state.tab !== null;
drawFilter();
drawOrder();
follow();
