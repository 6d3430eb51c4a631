//! What cells mean: types, nulls and numbers.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "currency",
        b"a\n$10.00\n$5.50\n",
        &[("/columns/0/type", r#""text""#), ("/columns/0/count/value", "2")],
    ),
    ("percent", b"a\n12%\n50%\n", &[("/columns/0/type", r#""text""#)]),
    ("dates", b"a\n01/02/2024\n13/02/2024\n", &[("/columns/0/type", r#""text""#)]),
    (
        "zero-padded ids",
        b"zip,n\n02134,1\n90210,2\n",
        &[
            ("/columns/0/type", r#""text""#),
            ("/columns/0/hints", r#"["zero_padded"]"#),
            ("/columns/0/text_because/line", "2"),
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
    ("only null words", b"a,b\nNA,1\n", &[("/columns/0/type", r#""text""#)]),
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
                r#"[{"token": "NA", "count": 2}, {"token": "n/a", "count": 1}]"#,
            ),
        ],
    ),
    (
        "cells of spaces are empty in every column",
        b"a,b,c\n1, ,x\n  , ,\t\n2, ,\" \"\n",
        &[
            ("/columns/0/nulls/value", "1"),
            ("/columns/1/type", r#""empty""#),
            ("/columns/1/nulls/value", "3"),
            ("/columns/2/count/value", "1"),
            ("/columns/2/nulls/value", "2"),
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
            ("/assumptions/0", r#""spaces around numbers were ignored: column 2""#),
        ],
    ),
    (
        "integers beyond 2^53",
        b"a\n9007199254740993\n\"\"\n",
        &[("/columns/0/sum", r#"{"value": "9007199254740993", "exact": true}"#)],
    ),
    (
        "sixteen digits, which f64 printers disagree on",
        b"a\n600000000000000.3\n",
        &[("/columns/0/sum/value", r#""600000000000000.3""#)],
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
            ("/columns/0/sum/value", r#""199999999999999999999999999999999999997""#),
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
        &[("/columns/0/type", r#""decimal""#), ("/columns/0/sum/value", "1000.02")],
    ),
    (
        "ids that look like exponents",
        b"id\n1E5\n2A7\n",
        &[("/columns/0/type", r#""text""#), ("/columns/0/text_because/value", r#""2A7""#)],
    ),
    (
        "more digits than an i128 holds",
        b"a\n0.123456789012345678901234567890123456789\n1\n",
        &[
            ("/columns/0/type", r#""float""#),
            ("/columns/0/sum/value", "1.1234567890123457"),
            ("/columns/0/sum/exact", "false"),
            ("/columns/0/sum/method", r#""compensated (Neumaier) in f64""#),
        ],
    ),
    (
        "what cancels in f64 is carried along",
        b"a\n1e100\n1e50\n1e50\n-1e100\n",
        &[("/columns/0/sum/value", "2e50"), ("/columns/0/average/value", "5e49")],
    ),
    (
        "a number no f64 holds",
        b"a\n1\n1e999\n",
        &[("/columns/0/type", r#""text""#), ("/columns/0/text_because/line", "3")],
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
            ("/columns/0/max", r#"{"value": 1.5000001, "exact": true, "line": 3}"#),
            ("/columns/0/min", r#"{"value": -3, "exact": true, "line": 4}"#),
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
