//! URIs and what a template finds in them.

use super::UriTemplate;

fn values(template: &str, uri: &str) -> Option<Vec<String>> {
    let template = UriTemplate::parse(template).unwrap();
    Some(template.matches(uri)?.into_iter().map(|(_, value)| value).collect())
}

#[test]
fn variables_are_found_wherever_their_text_occurs() {
    for (template, uri, expected) in [
        ("x://{name}", "x://a", Some(vec!["a"])),
        ("x://{name}", "x://", None),
        ("x://{name}", "x://a/b", None),
        ("x://{+path}", "x://a/b", Some(vec!["a/b"])),
        ("x://{name}.csv", "x://a.csv", Some(vec!["a"])),
        ("x://{name}.csv", "x://a.csv.csv", Some(vec!["a.csv"])),
        ("x://{name}.csv", "x://.csv.csv", Some(vec![".csv"])),
        ("x://{name}.csv", "x://.csv", None),
        ("x://{name}.csv", "x://a.csv/b", None),
        ("x://{+path}.csv", "x://a.csv/b.csv", Some(vec!["a.csv/b"])),
        ("x://{a}-{b}.csv", "x://1-2-3.csv", Some(vec!["1", "2-3"])),
        ("x://{a}-{b}", "x://-1-2", Some(vec!["-1", "2"])),
        ("x://{+path}.{kind}.csv", "x://a.b/c.d.csv", Some(vec!["a.b/c", "d"])),
        ("x://{+path}/{name}", "x://a/b/c", Some(vec!["a/b", "c"])),
        ("x://{+path}/{name}", "x://a/b/", None),
        ("x://{owner}/{repo}/{n}", "x://o/r/1", Some(vec!["o", "r", "1"])),
        ("x://{owner}/{repo}/{n}", "x://o//1", None),
        ("{a}/x", "é/x", Some(vec!["é"])),
        ("x://fixed", "x://fixed", Some(vec![])),
        ("x://fixed", "x://fixed2", None),
        ("a{b}a", "aa", None),
        ("ab{c}ba", "aba", None),
    ] {
        let expected = expected.map(|values| values.into_iter().map(str::to_owned).collect());
        assert_eq!(values(template, uri), expected, "{template} {uri}");
    }
}

/// What RFC 6570 makes of a value, the template finds in the URI again.
#[test]
fn values_are_decoded_once() {
    for (uri, expected) in [
        ("x://a%20b", Some("a b")),
        ("x://a%2Fb", Some("a/b")),
        ("x://a%252Fb", Some("a%2Fb")),
        ("x://%C3%A9", Some("é")),
        ("x://%FF", None),
        ("x://%2", None),
        ("x://%zz", None),
        ("x://%+1", None),
    ] {
        let expected = expected.map(|value| vec![value.to_owned()]);
        assert_eq!(values("x://{name}", uri), expected, "{uri}");
    }
}

#[test]
fn mistakes_in_templates_are_told() {
    for template in ["x://{a", "x://{a}{b}", "x://{}", "x://{?a}", "x://{a*}"] {
        assert!(UriTemplate::parse(template).is_err(), "{template}");
    }
}
