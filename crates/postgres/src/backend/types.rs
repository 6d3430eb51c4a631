//! What kind of value a type's text stands for, looked up in `pg_type` once and remembered.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde::Deserialize;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor};

use super::error::Error;
use super::rows;

/// How a value of a type becomes JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    Boolean,
    /// Fits into the integers every JSON reader keeps exactly.
    SmallInteger,
    /// 64 bits: some values do not.
    BigInteger,
    Float,
    Json,
    Array {
        element: u32,
        delimiter: char,
    },
    Composite(Vec<Field>),
    /// `record`: nobody knows the names and types of its fields.
    Record,
    /// As PostgreSQL prints it.
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) oid: u32,
}

#[derive(Debug)]
pub(crate) struct Type {
    /// As PostgreSQL writes it, for example `timestamp with time zone`.
    pub(crate) name: String,
    pub(crate) shape: Shape,
}

/// Everything known so far, by OID.
#[derive(Debug, Default)]
pub(crate) struct Types {
    known: RwLock<HashMap<u32, Arc<Type>>>,
}

impl Types {
    pub(crate) fn get(&self, oid: u32) -> Option<Arc<Type>> {
        self.read().get(&oid).cloned()
    }

    /// Whether all of these are known for good.
    pub(crate) fn knows(&self, wanted: impl IntoIterator<Item = u32>) -> bool {
        self.missing(wanted, &HashSet::new()).is_empty()
    }

    /// Looks up what is not known of `wanted`, and what these are made of. Composite types are
    /// looked up each time, because they can be altered.
    pub(crate) async fn learn(
        &self,
        connection: &mut PgConnection,
        wanted: impl IntoIterator<Item = u32>,
    ) -> Result<(), Error> {
        let mut fresh = HashSet::new();
        let mut missing: Vec<u32> = self.missing(wanted, &fresh);
        while !missing.is_empty() {
            fresh.extend(missing.iter().copied());
            let found = look_up(connection, &missing).await?;
            let parts: Vec<u32> = found.values().flat_map(|found| parts(&found.shape)).collect();
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.extend(found.into_iter().map(|(oid, found)| (oid, Arc::new(found))));
            drop(known);
            missing = self.missing(parts, &fresh);
        }
        Ok(())
    }

    fn missing(&self, wanted: impl IntoIterator<Item = u32>, fresh: &HashSet<u32>) -> Vec<u32> {
        let known = self.read();
        let is_missing = |oid: &u32| {
            let stale = known.get(oid).is_none_or(|known| is_changeable(&known.shape));
            stale && !fresh.contains(oid)
        };
        let mut missing: Vec<u32> = wanted.into_iter().filter(is_missing).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<u32, Arc<Type>>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An array may be one of composites, whose parts are then looked up again.
fn is_changeable(shape: &Shape) -> bool {
    match shape {
        Shape::Composite(_) => true,
        Shape::Array { element, .. } => *element >= FIRST_USER_OID,
        _ => false,
    }
}

/// Types below come with PostgreSQL and never change.
const FIRST_USER_OID: u32 = 16_384;

fn parts(shape: &Shape) -> Vec<u32> {
    match shape {
        Shape::Array { element, .. } => vec![*element],
        Shape::Composite(fields) => fields.iter().map(|field| field.oid).collect(),
        _ => Vec::new(),
    }
}

/// A domain counts as what it is based on. `int2vector` and `oidvector` have elements, but are not
/// written like arrays; `array_out` tells the difference.
const LOOK_UP: &str = "
WITH RECURSIVE wanted (oid, base) AS (
    SELECT oid, oid FROM pg_catalog.pg_type WHERE oid = ANY ('{OIDS}'::pg_catalog.oid[])
    UNION ALL
    SELECT wanted.oid, typbasetype FROM wanted
        JOIN pg_catalog.pg_type domain ON domain.oid = base AND typtype = 'd'
)
SELECT wanted.oid, pg_catalog.format_type(wanted.oid, NULL), base.oid, base.typtype,
    CASE WHEN base.typoutput = 'pg_catalog.array_out'::pg_catalog.regproc
        THEN base.typelem ELSE 0 END,
    element.typdelim,
    (SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
        'name', attname, 'type', atttypid::pg_catalog.int8) ORDER BY attnum)
    FROM pg_catalog.pg_attribute
    WHERE attrelid = base.typrelid AND attnum > 0 AND NOT attisdropped)
FROM wanted
JOIN pg_catalog.pg_type base ON base.oid = wanted.base AND base.typtype <> 'd'
LEFT JOIN pg_catalog.pg_type element ON element.oid = base.typelem";

async fn look_up(connection: &mut PgConnection, oids: &[u32]) -> Result<HashMap<u32, Type>, Error> {
    let list: Vec<String> = oids.iter().map(u32::to_string).collect();
    let sql = AssertSqlSafe(LOOK_UP.replace("OIDS", &list.join(",")));
    let rows = connection.fetch_all(sqlx::raw_sql(sql)).await?;
    let mut found = HashMap::new();
    for row in rows {
        let text = |column: usize| rows::text(&row, column);
        let number = |column| text(column).and_then(|text| text.parse::<u32>().ok());
        let (Some(oid), Some(name), Some(base)) = (number(0), text(1), number(2)) else {
            continue;
        };
        let element = number(4).filter(|element| *element != 0);
        let shape = match (element, text(3).as_deref()) {
            (Some(element), _) => {
                let delimiter = text(5).and_then(|text| text.chars().next()).unwrap_or(',');
                Shape::Array { element, delimiter }
            }
            (None, Some("c")) => {
                let fields = text(6).and_then(|text| serde_json::from_str(&text).ok());
                Shape::Composite(fields.unwrap_or_default())
            }
            _ => scalar(base),
        };
        found.insert(oid, Type { name, shape });
    }
    Ok(found)
}

/// Types that come with PostgreSQL have had the same OID for ever.
fn scalar(oid: u32) -> Shape {
    match oid {
        16 => Shape::Boolean,
        21 | 23 | 26 => Shape::SmallInteger,
        20 => Shape::BigInteger,
        700 | 701 => Shape::Float,
        114 | 3802 => Shape::Json,
        2249 => Shape::Record,
        _ => Shape::Text,
    }
}
