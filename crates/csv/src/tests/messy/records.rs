//! Where records and headers begin and end.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "line end inside quotes",
        b"a,b\n1,\"x\ny\"\n2,z\n",
        &[("/rows", "2"), ("/columns/0/max", r#"{"value": 2, "exact": true, "line": 4}"#)],
    ),
    (
        "doubled quotes are one quote",
        b"\"say \"\"hi\"\"\",b\n1,2\n",
        &[("/columns/0/name", r#""say \"hi\"""#), ("/oddities/stray_quotes", "null")],
    ),
    (
        "stray quote in a bare field",
        b"a,b\n1,2\"3\n4,5\n",
        &[
            ("/rows", "2"),
            ("/columns/0/sum/value", "5"),
            ("/columns/1/type", r#""text""#),
            ("/oddities/stray_quotes", r#"{"count": 1, "first_lines": [2]}"#),
        ],
    ),
    (
        "text after a closing quote",
        b"a,b\n1,\"x\" y\n2,z\n",
        &[("/rows", "2"), ("/oddities/stray_quotes/first_lines", "[2]")],
    ),
    (
        "unterminated quote",
        b"a,b\n1,2\n3,\"4\n5,6\n7,8\n",
        &[
            ("/rows", "1"),
            ("/columns/0/sum/value", "1"),
            ("/oddities/unterminated_quote", r#"{"line": 3}"#),
        ],
    ),
    (
        "unterminated quote behind a quoted line end",
        b"a,b\n\"x\ny\",\"4\n5,6",
        &[("/rows", "0"), ("/oddities/unterminated_quote", r#"{"line": 3}"#)],
    ),
    (
        "a closing quote is the last byte",
        b"a,b\n1,\"2\"",
        &[("/rows", "1"), ("/columns/1/sum/value", "2"), ("/oddities", "{}")],
    ),
    (
        "short row",
        b"a,b,c\n1,2,3\n4,5\n",
        &[
            ("/rows", "2"),
            ("/oddities/short_rows", r#"{"count": 1, "first_lines": [3]}"#),
            ("/columns/2/nulls/value", "1"),
            ("/columns/2/sum/value", "3"),
        ],
    ),
    (
        "long row",
        b"a,b,c\n1,2,3\n4,5,6,7\n",
        &[
            ("/oddities/long_rows", r#"{"count": 1, "first_lines": [3]}"#),
            ("/columns/2/sum/value", "9"),
            ("/columns/3", "null"),
        ],
    ),
    (
        "blank lines",
        b"\na,b\n\n1,2\n\r\n\n3,4\n\n",
        &[
            ("/rows", "2"),
            ("/oddities/blank_lines", "5"),
            ("/columns/0/max/line", "7"),
            ("/dialect/line_ends", r#"{"lf": 3}"#),
        ],
    ),
    (
        "blank lines in a file of one column",
        b"a\n1\n\n2\n",
        &[
            ("/rows", "2"),
            ("/oddities/blank_lines", "1"),
            (
                "/assumptions/0",
                r#""1 blank lines were skipped, though in a file of one column they may be nulls""#,
            ),
        ],
    ),
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
        &[("/dialect/header", r#""detected""#), ("/assumptions", "null")],
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
];
