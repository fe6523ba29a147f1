#!/usr/bin/env bash
# Comments on the pull request how its recording differs from that of the base branch.
set -euo pipefail

before=$RUNNER_TEMP/loomrec-before.json
comment=$RUNNER_TEMP/loomrec-comment.md
if [ -d "$LOOMREC_ACTION_RECORDING" ] || [ ! -f "$LOOMREC_ACTION_RECORDING" ]; then
    echo "loomrec: $LOOMREC_ACTION_RECORDING is no file, so there is nothing to compare"
    exit 0
fi
git fetch --quiet --depth=1 origin "$GITHUB_BASE_REF"
if ! git show "FETCH_HEAD:$LOOMREC_ACTION_RECORDING" >"$before" 2>/dev/null; then
    echo "loomrec: the base branch has no $LOOMREC_ACTION_RECORDING"
    exit 0
fi
status=0
loomrec diff "$before" "$LOOMREC_ACTION_RECORDING" --markdown >"$comment" || status=$?
case $status in
    0) echo "loomrec: the recording is that of the base branch"; exit 0 ;;
    1) ;;
    *) exit "$status" ;;
esac
gh pr comment "$LOOMREC_ACTION_NUMBER" --edit-last --body-file "$comment" ||
    gh pr comment "$LOOMREC_ACTION_NUMBER" --body-file "$comment"
