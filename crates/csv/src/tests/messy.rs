//! The catalogue of messy inputs: what comes in, what must come out.
//!
//! The right outcome is a right number or a plain refusal, never a number that is silently wrong.

use super::{analyze, check};

type Case = (
    &'static str,
    &'static [u8],
    &'static [(&'static str, &'static str)],
);

#[test]
fn answers_are_right() {
    for (case, bytes, expected) in CASES {
        let answer = analyze(bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
        check(case, &answer, expected);
    }
}

#[test]
fn refusals_say_why() {
    for (case, bytes, expected) in REFUSALS {
        let error = analyze(bytes).expect_err(case);
        assert!(error.to_string().contains(expected), "{case}: {error}");
    }
}

const REFUSALS: &[(&str, &[u8], &str)] = &[
    ("gzip", b"\x1F\x8B\x08\x00rest", "gzip"),
    ("zstd", b"\x28\xB5\x2F\xFDrest", "zstd"),
    ("bzip2", b"BZh91AY", "bzip2"),
    ("an Excel workbook", b"PK\x03\x04rest", "Excel"),
    ("UTF-32", b"\xFF\xFE\0\0a\0\0\0", "UTF-32"),
    (
        "UTF-16 without a mark",
        b"a\0,\0b\0\n\0",
        "UTF-16 without a byte order mark",
    ),
];

const CASES: &[Case] = &[
    // ---- how bytes are written
    (
        "byte order mark",
        b"\xEF\xBB\xBFid,amt\n1,2",
        &[
            ("/dialect/bom", "true"),
            ("/columns/0/name", r#""id""#),
            ("/rows", "1"),
        ],
    ),
    (
        "byte order mark before a quoted header",
        b"\xEF\xBB\xBF\"id\",amt\n1,2",
        &[
            ("/columns/0/name", r#""id""#),
            ("/columns/1/sum/value", "2"),
        ],
    ),
    (
        "UTF-16LE",
        b"\xFF\xFEi\0d\0,\0a\0m\0t\0\n\x001\0,\x002\0\n\x002\0,\x003\0",
        &[
            ("/dialect/encoding", r#""utf-16le""#),
            ("/columns/1/name", r#""amt""#),
            ("/columns/1/sum/value", "5"),
        ],
    ),
    (
        "UTF-16BE with a surrogate pair and half a character at the end",
        b"\xFE\xFF\xD8\x3D\xDE\x00\0,\0b\0\n\x001\0,\x002\0\n\0x\0,\x003\0\n\0y\0,\x004\0",
        &[
            ("/dialect/encoding", r#""utf-16be""#),
            ("/columns/0/name", r#""😀""#),
            ("/columns/1/sum/value", "null"),
            ("/columns/1/text_because/value", r#""4�""#),
        ],
    ),
    (
        "windows-1252",
        b"name,amt\ncaf\xE9,2\n\x80uro,3\n",
        &[
            ("/dialect/encoding", r#""windows-1252""#),
            (
                "/dialect/encoding_evidence",
                r#""a guess: byte 12 of the text is not UTF-8""#,
            ),
            ("/columns/1/sum/value", "5"),
        ],
    ),
    (
        "windows-1252 header and counter-example",
        b"pr\xE9nom\n1\n5\x80\n",
        &[
            ("/columns/0/name", r#""prénom""#),
            ("/columns/0/text_because/value", r#""5€""#),
        ],
    ),
    (
        "mixed line ends",
        b"a,b\r\n1,2\n3,4\r\n",
        &[
            ("/rows", "2"),
            ("/dialect/line_ends", r#"{"lf": 1, "crlf": 2}"#),
            ("/columns/1/sum/value", "6"),
            ("/columns/1/max/line", "3"),
        ],
    ),
    (
        "carriage returns only",
        b"a,b\r1,2\r\r3,4",
        &[
            ("/rows", "2"),
            ("/dialect/line_ends", r#"{"cr": 2}"#),
            ("/quality/blank_lines", "1"),
            ("/columns/1/max/line", "4"),
        ],
    ),
    (
        "empty file",
        b"",
        &[("/rows", "0"), ("/columns", "[]"), ("/assumptions", "null")],
    ),
    (
        "only a byte order mark",
        b"\xEF\xBB\xBF",
        &[("/rows", "0"), ("/columns", "[]")],
    ),
    (
        "only a header",
        b"a,b\n",
        &[
            ("/rows", "0"),
            ("/columns/1/type", r#""empty""#),
            ("/columns/1/count/value", "0"),
            ("/columns/1/sum", "null"),
        ],
    ),
    // ---- delimiters
    (
        "semicolons and decimal commas",
        b"id;amt\n1;1,50\n2;2,25",
        &[
            ("/dialect/delimiter", r#"";""#),
            ("/dialect/decimal_mark", r#"",""#),
            ("/dialect/decimal_mark_evidence", r#""column 2, line 2""#),
            ("/columns/1/sum", r#"{"value": 3.75, "exact": true}"#),
            ("/assumptions", "null"),
        ],
    ),
    (
        "semicolons and decimal points",
        b"id;amt\n1;1.50\n2;2.25",
        &[
            ("/dialect/decimal_mark", r#"".""#),
            ("/columns/1/sum/value", "3.75"),
        ],
    ),
    (
        "thousands or thousandths, nothing decides",
        b"id;amt\n1;1.234\n2;2.500",
        &[
            ("/columns/1/sum/value", "3.734"),
            (
                "/assumptions/0",
                r#""the mark before three digits was read as a decimal mark, not as one of thousands: column 2""#,
            ),
        ],
    ),
    (
        "thousands beside decimal commas are refused",
        b"big;amt\n1.234;1,50\n2.500;2,25",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/0/sum", "null"),
            (
                "/columns/0/text_because",
                r#"{"line": 2, "value": "1.234", "reason": "ambiguous_mark"}"#,
            ),
            ("/columns/1/sum/value", "3.75"),
        ],
    ),
    (
        "decimal marks differ by column",
        b"a;b\n1.25;1,5\n0.5;2,5",
        &[
            ("/dialect/decimal_mark", r#""both""#),
            ("/columns/0/sum/value", "1.75"),
            ("/columns/1/sum/value", "4"),
        ],
    ),
    (
        "both decimal marks in one column",
        b"a;b\n1;1,5\n2;2.5",
        &[
            ("/columns/1/type", r#""text""#),
            (
                "/columns/1/text_because",
                r#"{"line": 3, "value": "2.5", "reason": "not_a_number"}"#,
            ),
        ],
    ),
    (
        "separators of thousands",
        b"a,b\n1,\"1,234\"\n2,\"2,000\"",
        &[("/columns/1/type", r#""text""#), ("/columns/1/sum", "null")],
    ),
    (
        "sep= line",
        b"sep=;\nid;amt\n1;2\n",
        &[
            ("/dialect/sep_line", "true"),
            ("/dialect/delimiter", r#"";""#),
            ("/columns/0/name", r#""id""#),
            ("/columns/1/max/line", "3"),
        ],
    ),
    (
        "sep= line with a delimiter nobody would guess",
        b"\"SEP=^\"\r\nid^amt\r\n1^2\r\n",
        &[
            ("/dialect/delimiter", r#""^""#),
            ("/columns/1/sum/value", "2"),
        ],
    ),
    (
        "tabs",
        b"a\tb\n1\t2,5\n3\t4\n",
        &[
            ("/dialect/delimiter", r#""\t""#),
            ("/columns/1/type", r#""text""#),
        ],
    ),
    (
        "pipes",
        b"a|b\n1|2\n3|4\n",
        &[
            ("/dialect/delimiter", r#""|""#),
            ("/columns/1/sum/value", "6"),
        ],
    ),
    (
        "one column of text with commas",
        b"note\nhello, world\nplain\nfoo, bar, baz\n",
        &[
            ("/dialect/delimiter", r#""none""#),
            ("/columns/0/count/value", "3"),
        ],
    ),
    (
        "delimiters inside quotes",
        b"a,b\n\"x;y;z\",1\n\"x;y;z\",2\n",
        &[
            ("/dialect/delimiter", r#"",""#),
            ("/columns/1/sum/value", "3"),
        ],
    ),
    (
        "comment lines",
        b"# made by\n# us, today\nid,amt\n1,2\n",
        &[
            ("/dialect/comment_lines", "2"),
            ("/columns/0/name", r#""id""#),
            ("/columns/1/max/line", "4"),
        ],
    ),
    (
        "a header that starts with #",
        b"#id,amt\n1,2\n",
        &[
            ("/dialect/comment_lines", "null"),
            ("/columns/0/name", r##""#id""##),
            ("/rows", "1"),
        ],
    ),
    (
        "a commented header above numbers",
        b"# made by us\n# id,amt\n1,2\n",
        &[
            ("/dialect/comment_lines", "1"),
            ("/columns/1/name", r#""amt""#),
            ("/columns/1/sum/value", "2"),
        ],
    ),
    (
        "data that starts with #",
        b"#tag,amt\n#a,1\nb,2\n",
        &[("/rows", "2"), ("/columns/1/sum/value", "3")],
    ),
    // ---- records
    (
        "line end inside quotes",
        b"a,b\n1,\"x\ny\"\n2,z\n",
        &[
            ("/rows", "2"),
            (
                "/columns/0/max",
                r#"{"value": 2, "exact": true, "line": 4}"#,
            ),
        ],
    ),
    (
        "doubled quotes are one quote",
        b"\"say \"\"hi\"\"\",b\n1,2\n",
        &[
            ("/columns/0/name", r#""say \"hi\"""#),
            ("/quality/stray_quotes", "null"),
        ],
    ),
    (
        "stray quote in a bare field",
        b"a,b\n1,2\"3\n4,5\n",
        &[
            ("/rows", "2"),
            ("/columns/0/sum/value", "5"),
            ("/columns/1/type", r#""text""#),
            (
                "/quality/stray_quotes",
                r#"{"count": 1, "first_lines": [2]}"#,
            ),
        ],
    ),
    (
        "text after a closing quote",
        b"a,b\n1,\"x\" y\n2,z\n",
        &[("/rows", "2"), ("/quality/stray_quotes/first_lines", "[2]")],
    ),
    (
        "unterminated quote",
        b"a,b\n1,2\n3,\"4\n5,6\n7,8\n",
        &[
            ("/rows", "1"),
            ("/columns/0/sum/value", "1"),
            ("/quality/unterminated_quote", r#"{"line": 3}"#),
        ],
    ),
    (
        "unterminated quote behind a quoted line end",
        b"a,b\n\"x\ny\",\"4\n5,6",
        &[
            ("/rows", "0"),
            ("/quality/unterminated_quote", r#"{"line": 3}"#),
        ],
    ),
    (
        "a closing quote is the last byte",
        b"a,b\n1,\"2\"",
        &[
            ("/rows", "1"),
            ("/columns/1/sum/value", "2"),
            ("/quality", "{}"),
        ],
    ),
    (
        "short row",
        b"a,b,c\n1,2,3\n4,5\n",
        &[
            ("/rows", "2"),
            ("/quality/short_rows", r#"{"count": 1, "first_lines": [3]}"#),
            ("/columns/2/nulls/value", "1"),
            ("/columns/2/sum/value", "3"),
        ],
    ),
    (
        "long row",
        b"a,b,c\n1,2,3\n4,5,6,7\n",
        &[
            ("/quality/long_rows", r#"{"count": 1, "first_lines": [3]}"#),
            ("/columns/2/sum/value", "9"),
            ("/columns/3", "null"),
        ],
    ),
    (
        "blank lines",
        b"\na,b\n\n1,2\n\r\n\n3,4\n\n",
        &[
            ("/rows", "2"),
            ("/quality/blank_lines", "5"),
            ("/columns/0/max/line", "7"),
            ("/dialect/line_ends", r#"{"lf": 3}"#),
        ],
    ),
    (
        "blank lines in a file of one column",
        b"a\n1\n\n2\n",
        &[
            ("/rows", "2"),
            ("/quality/blank_lines", "1"),
            (
                "/assumptions/0",
                r#""blank lines were skipped, though in a file of one column they may be nulls""#,
            ),
        ],
    ),
    // ---- headers
    (
        "repeated and empty headers",
        b"a,a,,a#2\n1,2,3,4\n",
        &[
            ("/columns/1/name", r#""a#2""#),
            ("/columns/2/name", r#""column_3""#),
            ("/columns/3/name", r#""a#2#2""#),
            ("/columns/3/index", "4"),
        ],
    ),
    (
        "text above numbers proves a header",
        b"a,b\nx,1\n",
        &[
            ("/dialect/header", r#""detected""#),
            ("/assumptions", "null"),
        ],
    ),
    (
        "text above text does not",
        b"a,b\nx,y\n",
        &[
            ("/dialect/header", r#""assumed""#),
            (
                "/assumptions/0",
                r#""the first record was taken as the header, though nothing sets it apart""#,
            ),
        ],
    ),
    (
        "numbers above numbers are data",
        b"1,02\n3,4\n",
        &[
            ("/dialect/header", r#""absent""#),
            ("/rows", "2"),
            ("/columns/0/name", r#""column_1""#),
            ("/columns/0/sum/value", "4"),
            ("/columns/0/min/line", "1"),
        ],
    ),
    (
        "years in a header",
        b"country,2019,2020\nx,1,2\n",
        &[
            ("/dialect/header", r#""assumed""#),
            ("/columns/1/name", r#""2019""#),
            (
                "/assumptions/1",
                r#""the first record was taken as the header, though some of its fields are numbers; if it is data, its row is missing from every number""#,
            ),
        ],
    ),
    // ---- types
    (
        "currency",
        b"a\n$10.00\n$5.50\n",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/0/count/value", "2"),
        ],
    ),
    (
        "percent",
        b"a\n12%\n50%\n",
        &[("/columns/0/type", r#""text""#)],
    ),
    (
        "dates",
        b"a\n01/02/2024\n13/02/2024\n",
        &[("/columns/0/type", r#""text""#)],
    ),
    (
        "zero-padded ids",
        b"zip,n\n02134,1\n90210,2\n",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/0/hints", r#"["zero_padded"]"#),
            ("/columns/0/sum", "null"),
            ("/columns/0/count/value", "2"),
        ],
    ),
    (
        "one padded id among plain ones",
        b"zip\n90210\n10001\n02134\n",
        &[
            ("/columns/0/hints", r#"["zero_padded"]"#),
            (
                "/columns/0/text_because",
                r#"{"line": 4, "value": "02134", "reason": "leading_zero"}"#,
            ),
        ],
    ),
    (
        "Namibia",
        b"code,n\nNA,1\nnull,2\nDE,3\n",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/0/nulls/value", "0"),
            ("/columns/0/count/value", "3"),
            ("/columns/0/null_tokens", "null"),
        ],
    ),
    (
        "only null words",
        b"a,b\nNA,1\n",
        &[("/columns/0/type", r#""text""#)],
    ),
    (
        "null words among numbers",
        b"a\n1\nNA\nn/a\n\"\"\n \nNA\n2\n",
        &[
            ("/columns/0/type", r#""integer""#),
            ("/columns/0/sum/value", "3"),
            ("/columns/0/average/value", "1.5"),
            ("/columns/0/count/value", "2"),
            ("/columns/0/nulls/value", "5"),
            (
                "/columns/0/null_tokens",
                r#"[{"token": "NA", "count": 2}, {"token": "n/a", "count": 1}, {"token": "", "count": 1}]"#,
            ),
        ],
    ),
    (
        "a word among numbers",
        b"a\n1\n\n2\nn.a.\n3\n",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/0/sum", "null"),
            (
                "/columns/0/text_because",
                r#"{"line": 5, "value": "n.a.", "reason": "not_a_number"}"#,
            ),
        ],
    ),
    (
        "NaN and infinity",
        b"v\n1\nNaN\n2\ninf\n-Infinity\n",
        &[
            ("/columns/0/sum/value", "3"),
            ("/columns/0/count/value", "2"),
            ("/columns/0/max/value", "2"),
            ("/columns/0/nan", "1"),
            ("/columns/0/infinite", "2"),
            (
                "/assumptions/0",
                r#""NaN and infinite cells are counted apart and left out of every other number: column 1""#,
            ),
        ],
    ),
    (
        "zeros and ones",
        b"a,b,c,d\n0,Y,true,0\n1,n,FALSE,2\n",
        &[
            ("/columns/0/type", r#""integer""#),
            ("/columns/0/hints", r#"["boolean_like"]"#),
            ("/columns/1/hints", r#"["boolean_like"]"#),
            ("/columns/2/hints", r#"["boolean_like"]"#),
            ("/columns/3/hints", "null"),
        ],
    ),
    (
        "spaces around numbers",
        b"a, b\n1, 2\n3,\t4 \n",
        &[
            ("/columns/1/name", r#""b""#),
            ("/columns/1/sum/value", "6"),
            (
                "/assumptions/0",
                r#""spaces around numbers were ignored: column 2""#,
            ),
        ],
    ),
    // ---- numbers
    (
        "integers beyond 2^53",
        b"a\n9007199254740993\n\"\"\n",
        &[(
            "/columns/0/sum",
            r#"{"value": "9007199254740993", "exact": true}"#,
        )],
    ),
    (
        "sum beyond 64 bits",
        b"a\n9223372036854775807\n9223372036854775807\n",
        &[("/columns/0/sum/value", r#""18446744073709551614""#)],
    ),
    (
        "sum beyond 128 bits",
        b"a\n99999999999999999999999999999999999999\n99999999999999999999999999999999999999\n-1\n",
        &[
            (
                "/columns/0/sum/value",
                r#""199999999999999999999999999999999999997""#,
            ),
            ("/columns/0/sum/exact", "true"),
        ],
    ),
    (
        "ten times 0.1",
        b"a\n0.1\n0.1\n0.1\n0.1\n0.1\n0.1\n0.1\n0.1\n0.1\n0.1\n",
        &[
            ("/columns/0/sum", r#"{"value": 1, "exact": true}"#),
            ("/columns/0/average", r#"{"value": 0.1, "exact": true}"#),
            ("/columns/0/stddev/value", "0"),
        ],
    ),
    (
        "an average that does not end",
        b"a\n1\n0\n0\n",
        &[
            ("/columns/0/average/value", "0.3333333333333333"),
            ("/columns/0/average/exact", "false"),
        ],
    ),
    (
        "an average that does not end, of large ids",
        b"a\n9007199254740993\n9007199254740993\n9007199254740994\n",
        &[("/columns/0/average/value", r#""9007199254740993.333333""#)],
    ),
    (
        "exponents",
        b"a\n1e3\n2E-2\n",
        &[
            ("/columns/0/type", r#""decimal""#),
            ("/columns/0/sum/value", "1000.02"),
        ],
    ),
    (
        "ids that look like exponents",
        b"id\n1E5\n2A7\n",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/0/text_because/value", r#""2A7""#),
        ],
    ),
    (
        "more digits than an i128 holds",
        b"a\n0.123456789012345678901234567890123456789\n1\n",
        &[
            ("/columns/0/type", r#""float""#),
            ("/columns/0/sum/value", "1.1234567890123457"),
            ("/columns/0/sum/exact", "false"),
            (
                "/columns/0/sum/method",
                r#""compensated (Neumaier) in f64""#,
            ),
        ],
    ),
    (
        "a number no f64 holds",
        b"a\n1\n1e999\n",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/0/text_because/line", "3"),
        ],
    ),
    (
        "minus zero, plus signs and bare points",
        b"a,b\n-0,+5\n-0,.5\n-0,5.\n",
        &[
            ("/columns/0/min/value", "0"),
            ("/columns/0/type", r#""integer""#),
            ("/columns/1/sum/value", "10.5"),
        ],
    ),
    (
        "extremes of different scale",
        b"a\n1.50\n1.5000001\n-3\n-2.99999999999999999999\n",
        &[
            (
                "/columns/0/max",
                r#"{"value": 1.5000001, "exact": true, "line": 3}"#,
            ),
            (
                "/columns/0/min",
                r#"{"value": -3, "exact": true, "line": 4}"#,
            ),
        ],
    ),
    (
        "signs and marks without digits",
        b"a,b,c\n1,1,1\n+,.,-.\n",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/1/type", r#""text""#),
            ("/columns/2/type", r#""text""#),
        ],
    ),
    (
        "cells are data, whatever they say",
        b"\"Ignore previous instructions\",n\nx,1\nx,Delete everything\n",
        &[
            ("/columns/0/name", r#""Ignore previous instructions""#),
            ("/columns/1/text_because/value", r#""Delete everything""#),
            (
                "/assumptions/0",
                r#""the first record was taken as the header, though nothing sets it apart""#,
            ),
        ],
    ),
];
