//! The environment of the processes that this one descends from. A client may start its servers with a
//! few variables of its own environment only.

use std::collections::BTreeMap;

/// Returns the environment that the nearest ancestor with this variable was started with. Variables
/// that are not text are left out.
#[cfg(target_os = "linux")]
pub fn ancestor_environment(variable: &str) -> Option<BTreeMap<String, String>> {
    ancestors().find_map(|pid| {
        let variables = environment(pid)?;
        variables.contains_key(variable).then_some(variables)
    })
}

/// The same for systems that do not show the environment of a process.
#[cfg(not(target_os = "linux"))]
pub fn ancestor_environment(_variable: &str) -> Option<BTreeMap<String, String>> {
    None
}

/// The most ancestors that are looked at.
#[cfg(target_os = "linux")]
const MOST_ANCESTORS: usize = 64;

/// The most bytes of an environment.
#[cfg(target_os = "linux")]
const LARGEST_ENVIRONMENT: u64 = 8 << 20;

/// Returns the ids of the parent, of its parent, and so on.
#[cfg(target_os = "linux")]
fn ancestors() -> impl Iterator<Item = i32> {
    let parent = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name, which may hold anything: state, parent.
        let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?;
        parent.parse().ok().filter(|parent| *parent > 0)
    };
    let first = i32::try_from(std::process::id()).ok().and_then(|own| parent(&own));
    std::iter::successors(first, parent).take(MOST_ANCESTORS)
}

#[cfg(target_os = "linux")]
fn environment(pid: i32) -> Option<BTreeMap<String, String>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(LARGEST_ENVIRONMENT).read_to_end(&mut bytes).ok()?;
    let variable = |text: &[u8]| {
        let (name, value) = std::str::from_utf8(text).ok()?.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    Some(bytes.split(|byte| *byte == 0).filter_map(variable).collect())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn environment_of_an_ancestor_is_found_by_a_variable_of_it() {
        let of_parent = ancestors().find_map(environment).unwrap();
        let (name, value) = of_parent.iter().next().unwrap();
        assert_eq!(ancestor_environment(name).unwrap().get(name), Some(value));
        assert_eq!(ancestor_environment("LOOMREC_NOWHERE_AT_ALL"), None);
    }
}
