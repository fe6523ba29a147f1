//! The URL of a bucket, without what is in it.

use std::fmt;

use super::location::REMOTE_SCHEMES;

/// The URL of a bucket in an object store: `s3://BUCKET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUrl {
    scheme: &'static str,
    name: String,
}

impl BucketUrl {
    /// Returns the bucket that a URL is in. `None` if the URL is not one of an object store, or the
    /// name of its bucket is not valid.
    pub fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        Self::new(scheme, rest.split('/').next().unwrap_or_default())
    }

    /// Returns the bucket of this name. `None` if the scheme is unknown, or the name has less than 3
    /// characters, more than 222, or others than letters, digits and `-`, `_` and `.`.
    pub fn new(scheme: &str, name: &str) -> Option<Self> {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let is_name = (3..=222).contains(&name.len()) && name.chars().all(is_letter);
        let scheme = REMOTE_SCHEMES.into_iter().find(|known| *known == scheme)?;
        is_name.then(|| Self { scheme, name: name.to_owned() })
    }

    /// Returns the scheme: `s3`, `gs` or `az`.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// Returns the name of the bucket.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_of_a_url_is_its_scheme_and_its_first_part() {
        for url in ["s3://bucket", "s3://bucket/", "s3://bucket/a/b@tag"] {
            assert_eq!(BucketUrl::of_url(url), BucketUrl::new("s3", "bucket"));
        }
        assert_eq!(BucketUrl::of_url("az://c-1.x/a").unwrap().to_string(), "az://c-1.x");
        for wrong in [
            "",
            "bucket",
            "http://bucket/a",
            "s3:/bucket",
            "s3://",
            "s3://ab/x",
            "s3://me@bucket/a",
        ] {
            assert_eq!(BucketUrl::of_url(wrong), None, "{wrong}");
        }
    }
}
