//! The value of a flag that is one of several words, some of which take more: `constant:200`.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error, ValueEnum};

/// One of several words, and the text after its colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailedChoice<E> {
    /// The word.
    pub word: E,
    /// The text after the colon.
    pub detail: Option<String>,
}

/// Reads the value of such a flag.
#[derive(Debug)]
pub(super) struct DetailedChoiceParser<E>(PhantomData<fn() -> E>);

impl<E> DetailedChoiceParser<E> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<E> Clone for DetailedChoiceParser<E> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<E: ValueEnum + Clone + Send + Sync + 'static> TypedValueParser for DetailedChoiceParser<E> {
    type Value = DetailedChoice<E>;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        let words = EnumValueParser::<E>::new();
        let Some(text) = value.to_str() else {
            let mut error = Error::new(ErrorKind::InvalidUtf8).with_cmd(command);
            if let Some(arg) = arg {
                error.insert(ContextKind::InvalidArg, ContextValue::String(arg.to_string()));
            }
            return Err(error);
        };
        let (word, detail) = match text.split_once(':') {
            Some((word, detail)) => (word, Some(detail.to_owned())),
            None => (text, None),
        };
        Ok(DetailedChoice { word: words.parse_ref(command, arg, OsStr::new(word))?, detail })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(E::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}
