//! How bytes, delimiters and decimal marks are written.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "byte order mark",
        b"\xEF\xBB\xBFid,amt\n1,2",
        &[("/dialect/bom", "true"), ("/columns/0/name", r#""id""#), ("/rows", "1")],
    ),
    (
        "byte order mark before a quoted header",
        b"\xEF\xBB\xBF\"id\",amt\n1,2",
        &[("/columns/0/name", r#""id""#), ("/columns/1/sum/value", "2")],
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
            ("/dialect/encoding_evidence", r#""a guess: byte 12 of the text is not UTF-8""#),
            ("/columns/1/sum/value", "5"),
        ],
    ),
    (
        "windows-1252 header and counter-example",
        b"pr\xE9nom\n1\n5\x80\n",
        &[("/columns/0/name", r#""prénom""#), ("/columns/0/text_because/value", r#""5€""#)],
    ),
    (
        "UTF-8 that ends within a character",
        b"a\n1\n2\xE2\x82",
        &[("/dialect/encoding", r#""windows-1252""#), ("/columns/0/text_because/line", "3")],
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
            ("/oddities/blank_lines", "1"),
            ("/columns/1/max/line", "4"),
        ],
    ),
    ("empty file", b"", &[("/rows", "0"), ("/columns", "[]"), ("/assumptions", "null")]),
    ("only a byte order mark", b"\xEF\xBB\xBF", &[("/rows", "0"), ("/columns", "[]")]),
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
        &[("/dialect/decimal_mark", r#"".""#), ("/columns/1/sum/value", "3.75")],
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
        "thousands beside decimal points are refused",
        b"big;amt\n1,234;1.50\n2,500;2.25",
        &[
            ("/columns/0/text_because/reason", r#""ambiguous_mark""#),
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
            ("/columns/1/text_because", r#"{"line": 3, "value": "2.5", "reason": "not_a_number"}"#),
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
        &[("/dialect/delimiter", r#""^""#), ("/columns/1/sum/value", "2")],
    ),
    (
        "tabs",
        b"a\tb\n1\t2,5\n3\t4\n",
        &[("/dialect/delimiter", r#""\t""#), ("/columns/1/type", r#""text""#)],
    ),
    (
        "the header decides between delimiters",
        b"a;b\n1,5;2\n1,5;2\n1,5;2\n1,5;2\n1,5;2\n1,5;2\n1,5;2\n1,5;2\n1,5;2\n1,5;2\n3,1\n3,1\n",
        &[("/dialect/delimiter", r#"";""#), ("/oddities/short_rows/count", "2")],
    ),
    (
        "pipes",
        b"a|b\n1|2\n3|4\n",
        &[("/dialect/delimiter", r#""|""#), ("/columns/1/sum/value", "6")],
    ),
    (
        "one column of text with commas",
        b"note\nhello, world\nplain\nfoo, bar, baz\n",
        &[("/dialect/delimiter", r#""none""#), ("/columns/0/count/value", "3")],
    ),
    (
        "delimiters inside quotes",
        b"a,b\n\"x;y;z\",1\n\"x;y;z\",2\n",
        &[("/dialect/delimiter", r#"",""#), ("/columns/1/sum/value", "3")],
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
        &[("/dialect/comment_lines", "null"), ("/columns/0/name", r##""#id""##), ("/rows", "1")],
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
];
