//! The form of an upstream's keys, and stand-ins of that form.

/// The form of an upstream's keys.
///
/// Some programs look at it: Claude Code chooses a model by the beginning of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiKeyForm {
    /// The beginning of every key; empty if keys have none in common.
    prefix: &'static str,
    /// How many characters a key has, those of the prefix included.
    length: usize,
    /// The characters that follow the prefix.
    alphabet: KeyAlphabet,
}

/// The characters of a key after its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyAlphabet {
    /// Letters, digits, `-` and `_`.
    Token,
    /// Letters and digits.
    Alphanumeric,
    /// Digits and the letters from `a` to `f`.
    Hex,
}

impl ApiKeyForm {
    /// Keys of letters, digits, `-` and `_`.
    pub(super) const fn token(prefix: &'static str, length: usize) -> Self {
        Self { prefix, length, alphabet: KeyAlphabet::Token }
    }

    /// Keys of letters and digits.
    pub(super) const fn alphanumeric(prefix: &'static str, length: usize) -> Self {
        Self { prefix, length, alphabet: KeyAlphabet::Alphanumeric }
    }

    /// Keys of hexadecimal digits.
    pub(super) const fn hex(prefix: &'static str, length: usize) -> Self {
        Self { prefix, length, alphabet: KeyAlphabet::Hex }
    }

    /// Returns a key of this form that gives no access: it names loomrec, as far as its characters
    /// permit, and zeros fill it up to the length of a key.
    pub fn stand_in(&self) -> String {
        let words = match self.alphabet {
            KeyAlphabet::Token => "loomrec-replay-stand-in-",
            KeyAlphabet::Alphanumeric => "loomrecReplayStandIn",
            KeyAlphabet::Hex => "",
        };
        format!("{:0<length$}", format!("{}{words}", self.prefix), length = self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_in_names_loomrec_and_has_the_length_of_a_key() {
        assert_eq!(ApiKeyForm::token("a-", 30).stand_in(), "a-loomrec-replay-stand-in-0000");
        assert_eq!(ApiKeyForm::alphanumeric("b_", 24).stand_in(), "b_loomrecReplayStandIn00");
        assert_eq!(ApiKeyForm::hex("c-", 6).stand_in(), "c-0000");
    }
}
