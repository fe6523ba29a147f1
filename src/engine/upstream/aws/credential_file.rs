//! The files in which AWS's tools keep access keys.

/// Returns the secret of this access key in a file of profiles (`credentials` or `config`), whatever
/// its profile is named.
pub(super) fn secret_in(text: &str, key_id: &str) -> Option<String> {
    let mut profile = Profile::default();
    let mut lines = text.lines().map(str::trim);
    loop {
        let line = lines.next();
        if line.is_none_or(|line| line.starts_with('[')) {
            if let Some(secret) = profile.secret_of(key_id) {
                return Some(secret);
            }
            line?;
            profile = Profile::default();
        } else if let Some((name, value)) = line.and_then(|line| line.split_once('=')) {
            let value = Some(value.trim().to_owned());
            match name.trim() {
                "aws_access_key_id" => profile.key_id = value,
                "aws_secret_access_key" => profile.secret = value,
                _ => {}
            }
        }
    }
}

/// The access key of a profile.
#[derive(Default)]
struct Profile {
    key_id: Option<String>,
    secret: Option<String>,
}

impl Profile {
    fn secret_of(&mut self, key_id: &str) -> Option<String> {
        self.secret.take().filter(|_| self.key_id.as_deref() == Some(key_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_that_of_the_profile_with_the_key() {
        let text = "[default]\naws_access_key_id = ONE\naws_secret_access_key = 1=/+\n\n\
                    # [two]\n[two]\nregion=eu-west-1\naws_secret_access_key=2\n\
                    aws_access_key_id=TWO\n[three]\naws_access_key_id=THREE\n";
        assert_eq!(secret_in(text, "ONE").as_deref(), Some("1=/+"));
        assert_eq!(secret_in(text, "TWO").as_deref(), Some("2"));
        for none in ["THREE", "FOUR", ""] {
            assert_eq!(secret_in(text, none), None, "{none}");
        }
        assert_eq!(secret_in("", "ONE"), None);
    }
}
