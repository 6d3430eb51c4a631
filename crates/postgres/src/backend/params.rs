//! Bind parameters of any type. PostgreSQL says which types it expects, and turns the text of each
//! value into that type's binary form, which is what sqlx can send: nobody has to know the types.

use serde_json::Value;
use sqlx::encode::IsNull;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgConnection, PgTypeInfo};
use sqlx::{Arguments, AssertSqlSafe, Encode, Executor, Postgres, Row, Type};

use super::error::Error;
use super::rows;
use super::statement::UserSql;

/// A parameter in the binary form of its type.
struct Bound {
    oid: Oid,
    bytes: Option<Vec<u8>>,
}

impl Type<Postgres> for Bound {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl Encode<'_, Postgres> for Bound {
    fn encode_by_ref(
        &self,
        buffer: &mut PgArgumentBuffer,
    ) -> Result<IsNull, sqlx::error::BoxDynError> {
        let Some(bytes) = &self.bytes else { return Ok(IsNull::Yes) };
        buffer.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(PgTypeInfo::with_oid(self.oid))
    }
}

/// What PostgreSQL says of one parameter.
struct Expected {
    oid: Oid,
    name: String,
    /// The function that makes the binary form, quoted.
    send: Option<String>,
    /// The type that function takes: `refcursor`, for one, has that of `text`.
    send_takes: Option<String>,
    category: String,
}

/// The values as arguments of the statement.
pub(crate) async fn bind(
    connection: &mut PgConnection,
    sql: &UserSql,
    values: &[Value],
) -> Result<PgArguments, Error> {
    let mut arguments = PgArguments::default();
    if values.is_empty() {
        return Ok(arguments);
    }
    sql.prepare(connection).await?;
    let expected = expected(connection).await?;
    if expected.len() != values.len() {
        return Err(Error::Input(format!(
            "The statement has {} parameters ($1, $2, …), but `params` has {} values",
            expected.len(),
            values.len()
        )));
    }
    for (bytes, parameter) in
        to_binary(connection, &expected, values).await?.into_iter().zip(expected)
    {
        let bound = Bound { oid: parameter.oid, bytes };
        arguments.add(bound).map_err(|error| Error::Unexpected(error.to_string()))?;
    }
    Ok(arguments)
}

async fn expected(connection: &mut PgConnection) -> Result<Vec<Expected>, Error> {
    let rows = connection
        .fetch_all(sqlx::raw_sql(
            "SELECT t.oid, pg_catalog.format_type(t.oid, NULL), t.typcategory,
                pg_catalog.format('%I.%I', nspname, proname),
                CASE WHEN a.typtype <> 'p' THEN pg_catalog.format_type(a.oid, NULL) END
            FROM pg_catalog.pg_prepared_statements
            CROSS JOIN LATERAL pg_catalog.unnest(parameter_types) WITH ORDINALITY p (oid, number)
            JOIN pg_catalog.pg_type t ON t.oid = p.oid
            LEFT JOIN pg_catalog.pg_proc send ON send.oid = t.typsend
            LEFT JOIN pg_catalog.pg_namespace n ON n.oid = pronamespace
            LEFT JOIN pg_catalog.pg_type a ON a.oid = proargtypes[0]
            WHERE name = 'mcp_prepared' ORDER BY number;
            DEALLOCATE mcp_prepared",
        ))
        .await?;
    let read = |row: &sqlx::postgres::PgRow| {
        let text = |column: usize| rows::text(row, column);
        Some(Expected {
            oid: Oid(text(0)?.parse().ok()?),
            name: text(1)?,
            category: text(2)?,
            send: text(3),
            send_takes: text(4),
        })
    };
    let expected = rows.iter().map(read).collect::<Option<Vec<_>>>();
    expected.ok_or_else(|| Error::Unexpected("a parameter's type".to_owned()))
}

async fn to_binary(
    connection: &mut PgConnection,
    expected: &[Expected],
    values: &[Value],
) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let mut sql = "SELECT ".to_owned();
    let mut texts = PgArguments::default();
    for (index, (parameter, value)) in expected.iter().zip(values).enumerate() {
        let number = index + 1;
        let Some(send) = &parameter.send else {
            return Err(Error::Input(format!(
                "Parameter ${number} is of type {}, which cannot be sent. Write it as text and \
                 cast it: ${number}::text::{}",
                parameter.name, parameter.name
            )));
        };
        let comma = if index > 0 { ", " } else { "" };
        let cast = format!("CAST(${number}::pg_catalog.text AS {})", parameter.name);
        sql += &match &parameter.send_takes {
            Some(taken) => format!("{comma}{send}(CAST({cast} AS {taken}))"),
            None => format!("{comma}{send}({cast})"),
        };
        let added = texts.add(text_of(value, &parameter.category));
        added.map_err(|error| Error::Unexpected(error.to_string()))?;
    }
    let query = sqlx::query_with(AssertSqlSafe(sql), texts).persistent(false);
    let row = connection.fetch_one(query).await?;
    let bytes = |column| row.try_get::<Option<Vec<u8>>, _>(column);
    Ok((0..values.len()).map(bytes).collect::<Result<_, _>>()?)
}

/// What PostgreSQL would read the value from.
fn text_of(value: &Value, category: &str) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if category == "A" => Some(array_of(items)),
        other => Some(other.to_string()),
    }
}

/// As PostgreSQL writes an array.
fn array_of(items: &[Value]) -> String {
    let elements = items.iter().map(|item| match item {
        Value::Null => "NULL".to_owned(),
        Value::Array(items) => array_of(items),
        Value::String(text) => quoted(text),
        other => quoted(&other.to_string()),
    });
    format!("{{{}}}", elements.collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
