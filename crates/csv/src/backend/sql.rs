//! Writes the statements of a hand-off in the words of each database.

use super::handoff::{Handoff, Target};
use super::reader::{FirstRecord, TableReader};
use super::report::ColumnType;

/// A column, and what its cells prove.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: ColumnType,
    /// The most digits before the decimal mark.
    pub(super) whole_digits: u32,
    /// The most digits behind it.
    pub(super) scale: u32,
    pub(super) has_nulls: bool,
    /// Words that stand for no value, as they are written.
    pub(super) null_words: Vec<String>,
    pub(super) has_comma: bool,
}

/// All three databases hold decimals of so many digits.
const MAX_DECIMAL_DIGITS: u32 = 38;

pub(super) fn load(request: &Handoff, table: &TableReader, fields: &[Field]) -> String {
    let name = identifier(&request.table, request.target);
    let columns = each(fields, ",\n  ", |field| {
        let nullable = field.has_nulls;
        let kind = type_of(field, request.target);
        match (request.target, nullable) {
            (Target::Clickhouse, true) => {
                format!("{} Nullable({kind})", identifier(&field.name, request.target))
            }
            (Target::Clickhouse, false) => {
                format!("{} {kind}", identifier(&field.name, request.target))
            }
            (_, true) => format!("{} {kind}", identifier(&field.name, request.target)),
            (_, false) => format!("{} {kind} NOT NULL", identifier(&field.name, request.target)),
        }
    });
    let casts = each(fields, ",\n  ", |field| cast(field, request.target));
    let read = read(request, table, fields);
    let engine = match request.target {
        Target::Clickhouse => " ENGINE = MergeTree ORDER BY tuple()",
        _ => "",
    };
    match request.target {
        Target::Postgres => {
            let texts = each(fields, ", ", |field| {
                format!("{} text", identifier(&field.name, request.target))
            });
            format!(
                "CREATE TABLE {name} (\n  {columns}\n);\n\
                 CREATE TEMPORARY TABLE csv_text ({texts});\n{read};\n\
                 INSERT INTO {name} SELECT\n  {casts}\nFROM csv_text;"
            )
        }
        _ => format!(
            "CREATE TABLE {name} (\n  {columns}\n){engine};\n\
             INSERT INTO {name} SELECT\n  {casts}\nFROM {read};"
        ),
    }
}

pub(super) fn verify(request: &Handoff, fields: &[Field]) -> String {
    let numbers = each(fields, "", |field| {
        let column = identifier(&field.name, request.target);
        let sum = match field.kind {
            ColumnType::Integer | ColumnType::Decimal => format!(", sum({column})"),
            _ => String::new(),
        };
        format!(", count({column}){sum}")
    });
    format!("SELECT count(*){numbers} FROM {};", identifier(&request.table, request.target))
}

fn type_of(field: &Field, target: Target) -> String {
    let digits = field.whole_digits + field.scale;
    match (field.kind, target) {
        (ColumnType::Integer, Target::Clickhouse) if field.whole_digits < 19 => "Int64".into(),
        (ColumnType::Integer, Target::Clickhouse) if digits <= MAX_DECIMAL_DIGITS => {
            "Int128".into()
        }
        (ColumnType::Integer, _) if field.whole_digits < 19 => "BIGINT".into(),
        (ColumnType::Integer, Target::Duckdb) if digits <= MAX_DECIMAL_DIGITS => "HUGEINT".into(),
        (ColumnType::Integer | ColumnType::Decimal, Target::Postgres) => {
            format!("NUMERIC({digits}, {})", field.scale)
        }
        (ColumnType::Integer | ColumnType::Decimal, _) if digits <= MAX_DECIMAL_DIGITS => {
            format!("DECIMAL({digits}, {})", field.scale)
        }
        (ColumnType::Integer | ColumnType::Decimal | ColumnType::Float, Target::Clickhouse) => {
            "Float64".into()
        }
        (ColumnType::Float, Target::Postgres) => "NUMERIC".into(),
        (ColumnType::Integer | ColumnType::Decimal | ColumnType::Float, _) => "DOUBLE".into(),
        (ColumnType::Text | ColumnType::Empty, Target::Clickhouse) => "String".into(),
        (ColumnType::Text | ColumnType::Empty, Target::Duckdb) => "VARCHAR".into(),
        (ColumnType::Text | ColumnType::Empty, Target::Postgres) => "text".into(),
    }
}

/// From the text of a cell to its value.
fn cast(field: &Field, target: Target) -> String {
    let column = identifier(&field.name, target);
    if matches!(field.kind, ColumnType::Text | ColumnType::Empty) {
        return format!("nullif({column}, '')");
    }
    let words = field.null_words.iter().map(|word| literal(word, target));
    let nulls = std::iter::once("''".to_owned()).chain(words).collect::<Vec<_>>().join(", ");
    let text = match field.has_comma {
        true => format!("replace(trim({column}), ',', '.')"),
        false => format!("trim({column})"),
    };
    let kind = match (target, field.has_nulls) {
        (Target::Clickhouse, true) => format!("Nullable({})", type_of(field, target)),
        _ => type_of(field, target),
    };
    let value = format!("CASE WHEN trim({column}) IN ({nulls}) THEN NULL ELSE {text} END");
    // ClickHouse keeps a value nullable unless told that it is not.
    match (target, field.has_nulls) {
        (Target::Clickhouse, false) => format!("CAST({text} AS {kind})"),
        _ => format!("CAST({value} AS {kind})"),
    }
}

/// The file as a table of texts.
fn read(request: &Handoff, table: &TableReader, fields: &[Field]) -> String {
    let path = literal(&request.path, request.target);
    let sniffed = &table.sniffed;
    let delimiter = char::from(sniffed.delimiter.unwrap_or(b','));
    let delimiter = literal(&delimiter.to_string(), request.target);
    let has_header = matches!(table.header, FirstRecord::Names(_));
    let skipped = sniffed.comment_lines + u64::from(sniffed.has_sep_line);
    match request.target {
        Target::Duckdb => format!(
            "read_csv({path}, all_varchar = true, auto_detect = false, delim = {delimiter}, \
             quote = '\"', escape = '\"', header = {has_header}, skip = {skipped}, nullstr = '', \
             columns = {{{}}})",
            each(fields, ", ", |field| format!(
                "{}: 'VARCHAR'",
                literal(&field.name, request.target)
            ))
        ),
        Target::Postgres => {
            let name = "csv_text";
            format!(
                "\\copy {name} FROM {path} WITH (FORMAT csv, DELIMITER {delimiter}, HEADER {has_header})"
            )
        }
        Target::Clickhouse => {
            let skip = skipped + u64::from(has_header);
            let texts = each(fields, ", ", |field| {
                format!("{} Nullable(String)", identifier(&field.name, request.target))
            });
            format!(
                "file({path}, 'CSV', {}) SETTINGS format_csv_delimiter = {delimiter}, \
                 input_format_csv_skip_first_lines = {skip}",
                literal(&texts, request.target)
            )
        }
    }
}

fn each(fields: &[Field], between: &str, write: impl Fn(&Field) -> String) -> String {
    fields.iter().map(write).collect::<Vec<_>>().join(between)
}

fn identifier(name: &str, target: Target) -> String {
    format!("\"{}\"", quoted(name, '"', target))
}

fn literal(text: &str, target: Target) -> String {
    format!("'{}'", quoted(text, '\'', target))
}

/// ClickHouse alone reads backslashes inside quotes as the start of an escape.
fn quoted(text: &str, quote: char, target: Target) -> String {
    let text = match target {
        Target::Clickhouse => text.replace('\\', "\\\\"),
        Target::Duckdb | Target::Postgres => text.to_owned(),
    };
    text.replace(quote, &format!("{quote}{quote}"))
}
