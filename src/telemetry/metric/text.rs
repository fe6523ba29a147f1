//! The text formats of metrics: OpenMetrics for scrapers that accept it, otherwise the older
//! format, which `promtool` and all other tools read.

/// The media type of OpenMetrics.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The media type of the older format.
pub const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a scraper with this `Accept` header gets OpenMetrics.
pub fn wants_open_metrics(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        media.eq_ignore_ascii_case("application/openmetrics-text") && !refused
    })
}

/// Converts OpenMetrics to the older format: there the name of a counter has its suffix in HELP and
/// TYPE lines too, and the text has no end mark.
pub(super) fn from_open_metrics(open: &str) -> String {
    let mut out = String::with_capacity(open.len() + 64);
    let mut help = None;
    for line in open.lines() {
        if let Some(said) = line.strip_prefix("# HELP ") {
            help = said.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(split_at_space) {
            let suffix = if kind == "counter" { "_total" } else { "" };
            if let Some((_, help)) = help.take() {
                out.push_str(&format!("# HELP {name}{suffix} {help}\n"));
            }
            out.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
        } else if !line.starts_with('#') {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn split_at_space(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_named_in_full_when_the_format_is_the_older_one() {
        let open = "# HELP a_calls Calls: a # b.\n# TYPE a_calls counter\na_calls_total{m=\"# \"} 1\n\
                    # HELP t Times.\n# TYPE t histogram\nt_sum 1.5\n# EOF\n";
        let expected = "# HELP a_calls_total Calls: a # b.\n# TYPE a_calls_total counter\n\
                        a_calls_total{m=\"# \"} 1\n# HELP t Times.\n# TYPE t histogram\nt_sum 1.5\n";
        assert_eq!(from_open_metrics(open), expected);
    }

    #[test]
    fn open_metrics_is_given_to_whoever_accepts_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0,\
                          application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5,*/*;q=0.1";
        assert!(wants_open_metrics(prometheus));
        for other in ["", "*/*", "text/plain", "application/openmetrics-text;q=0, text/plain"] {
            assert!(!wants_open_metrics(other), "{other}");
        }
    }
}
