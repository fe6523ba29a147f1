use super::*;

fn variables(pairs: &[(&str, &str)]) -> TraceVariables {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[track_caller]
fn config(pairs: &[(&str, &str)]) -> SpanConfig {
    let asked = read_variables(&variables(pairs), SpanDetails::default()).unwrap().unwrap();
    assert_eq!(asked.warnings, [""; 0]);
    asked.config
}

#[track_caller]
fn refusal(pairs: &[(&str, &str)]) -> String {
    let asked = read_variables(&variables(pairs), SpanDetails::default());
    asked.err().map(|failure| failure.message).expect("it was taken")
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const OWN: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";

#[test]
fn endpoint_is_as_the_protocol_has_it() {
    let url = |pairs: &[(&str, &str)]| config(pairs).endpoint.to_string();
    assert_eq!(url(&[]), "http://localhost:4318/v1/traces");
    assert_eq!(url(&[(PROTOCOL, "grpc")]), "http://localhost:4317/");
    assert_eq!(url(&[(ENDPOINT, "http://c:1")]), "http://c:1/v1/traces");
    assert_eq!(url(&[(ENDPOINT, "http://c:1/x/")]), "http://c:1/x/v1/traces");
    assert_eq!(url(&[(ENDPOINT, "http://c:1"), (OWN, "http://d:2/y")]), "http://d:2/y");
    assert_eq!(url(&[(ENDPOINT, "http://c:1"), (OWN, "")]), "http://c:1/v1/traces");
    assert_eq!(url(&[(PROTOCOL, "grpc"), (ENDPOINT, "c:1")]), "https://c:1/");
    let insecure = [(PROTOCOL, "grpc"), (ENDPOINT, "c:1"), ("OTEL_EXPORTER_OTLP_INSECURE", "true")];
    assert_eq!(url(&insecure), "http://c:1/");
    let mixed = [(PROTOCOL, "grpc"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json")];
    assert_eq!(config(&mixed).protocol, SpanProtocol::Json);
}

#[test]
fn what_cannot_be_sent_is_refused_and_no_password_is_said() {
    assert!(refusal(&[(PROTOCOL, "thrift")]).contains("OTEL_EXPORTER_OTLP_PROTOCOL=thrift"));
    assert!(refusal(&[("OTEL_TRACES_EXPORTER", "zipkin")]).contains("otlp, or none"));
    assert!(refusal(&[(ENDPOINT, "ftp://c")]).contains("neither http:// nor https://"));
    assert!(refusal(&[(ENDPOINT, "collector")]).contains("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let secret = refusal(&[(ENDPOINT, "http://me:pass@c:1")]);
    assert!(secret.contains("OTEL_EXPORTER_OTLP_HEADERS") && !secret.contains("pass@"), "{secret}");
    let half = [("OTEL_EXPORTER_OTLP_CLIENT_KEY", "k.pem")];
    assert!(refusal(&half).contains("give both"));
    let missing = [("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem")];
    assert!(refusal(&missing).contains("/nowhere/ca.pem"));
}

#[test]
fn what_is_no_certificate_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "no certificate").unwrap();
    let path = file.path().to_str().unwrap();
    let told = refusal(&[("OTEL_EXPORTER_OTLP_CERTIFICATE", path)]);
    assert!(told.contains("holds no PEM of certificates"), "{told}");
    let both =
        [("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", path), ("OTEL_EXPORTER_OTLP_CLIENT_KEY", path)];
    assert!(refusal(&both).contains("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"));
}

#[test]
fn headers_and_compressions_that_are_none_are_warned_of_and_no_value_is_said() {
    let told = |name: &str, text: &str| {
        read_variables(&variables(&[(name, text)]), SpanDetails::default())
            .unwrap()
            .unwrap()
            .warnings
    };
    let (headers, compression) = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_COMPRESSION");
    for fine in ["authorization=Bearer%20abc", "a=b, C=d=e,", " x-y = z "] {
        assert!(told(headers, fine).is_empty(), "{fine}");
    }
    for wrong in ["sesame", "a=b,sesame", "a b=sesame", "a=sesame%0Ab", "a=%ff%fesesame", "a="] {
        let warnings = told(headers, wrong);
        assert!(warnings.len() == 1 && !warnings[0].contains("sesame"), "{wrong}: {warnings:?}");
    }
    assert!(told(compression, "GZIP").is_empty() && told(compression, "none").is_empty());
    assert!(told(compression, "zstd")[0].contains("gzip"));
}

#[test]
fn traces_are_off_when_the_variables_say_so() {
    for off in [("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")] {
        assert!(
            read_variables(&variables(&[off]), SpanDetails::default()).unwrap().is_none(),
            "{off:?}"
        );
    }
    config(&[("OTEL_SDK_DISABLED", "1"), ("OTEL_TRACES_EXPORTER", "otlp")]);
}

#[test]
fn numbers_are_taken_and_what_is_none_is_warned_of() {
    let taken = config(&[
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "250"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0"),
        ("OTEL_BSP_EXPORT_TIMEOUT", "700"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "8"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "99"),
    ]);
    let millis = |time: Duration| time.as_millis();
    assert_eq!((millis(taken.timeout), millis(taken.delay)), (250, 0));
    assert_eq!((millis(taken.limit), millis(taken.patience)), (700, 700));
    assert_eq!((taken.queue, taken.batch), (8, 8));
    let plain = config(&[]);
    assert_eq!((millis(plain.patience), millis(plain.limit)), (2000, 30_000));
    assert_eq!((plain.queue, plain.batch), (2048, 512));
    for bad in [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "many"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "-1"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ("OTEL_TRACES_SAMPLER", "traceidratio"),
    ] {
        let asked = read_variables(&variables(&[bad]), SpanDetails::default()).unwrap().unwrap();
        assert_eq!(asked.warnings.len(), 1, "{bad:?}");
        assert!(asked.warnings[0].starts_with(bad.0), "{:?}", asked.warnings);
    }
    let half =
        [("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0.5")];
    config(&half);
}

#[test]
fn own_listener_is_told_from_a_collector() {
    let own: SocketAddr = "127.0.0.1:4141".parse().unwrap();
    let is = |text: &str| is_at(&Url::parse(text).unwrap(), own);
    assert!(is("http://localhost:4141/v1/traces") && is("http://127.0.0.1:4141/x"));
    assert!(is("http://[::1]:4141/"));
    assert!(!is("http://localhost:4318/") && !is("http://collector:4141/"));
}
