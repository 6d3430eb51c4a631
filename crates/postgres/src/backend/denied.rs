//! Functions a read-only transaction does not stop: they reach beyond the transaction, run SQL
//! that nobody has looked at, or undo the protection around them.
//!
//! This is a second fence. The first is PostgreSQL: one statement, read-only, rolled back, and not
//! as a superuser. What only the role's own rights can stop, `security_posture` tells. A name
//! counts wherever it stands as a name, called or not, quoted or not; see `lexer.rs`.

use super::error::Error;
use super::lexer;

/// `*` at the end stands for anything.
const DENIED: &[(&str, &str)] = &[
    ("set_config", SETTINGS),
    ("query_to_xml*", RUNS_SQL),
    ("cursor_to_xml*", RUNS_SQL),
    ("table_to_xml*", RUNS_SQL),
    ("schema_to_xml*", RUNS_SQL),
    ("database_to_xml*", RUNS_SQL),
    ("ts_stat", RUNS_SQL),
    ("ts_rewrite", RUNS_SQL),
    ("xpath_table", RUNS_SQL),
    ("crosstab*", RUNS_SQL),
    ("connectby", RUNS_SQL),
    ("dblink*", OTHER_SERVER),
    ("postgres_fdw_*", OTHER_SERVER),
    ("lo_import", FILES),
    ("lo_export", FILES),
    ("lo_open", FILES),
    ("lo_close", FILES),
    ("lo_creat*", FILES),
    ("lo_unlink", FILES),
    ("lo_put", FILES),
    ("lo_get", FILES),
    ("lo_from_bytea", FILES),
    ("lo_truncate*", FILES),
    ("lo_lseek*", FILES),
    ("lo_tell*", FILES),
    ("loread", FILES),
    ("lowrite", FILES),
    ("pg_read_file*", FILES),
    ("pg_read_binary_file*", FILES),
    ("pg_ls_*", FILES),
    ("pg_stat_file*", FILES),
    ("pg_file_*", FILES),
    ("pg_logdir_ls", FILES),
    ("pg_current_logfile", FILES),
    ("pg_hba_file_rules", FILES),
    ("pg_ident_file_mappings", FILES),
    ("pg_show_all_file_settings", FILES),
    ("pg_file_settings", FILES),
    ("pg_advisory_*", LOCKS),
    ("pg_try_advisory_*", LOCKS),
    ("pg_terminate_backend", SESSIONS),
    ("pg_cancel_backend", SESSIONS),
    ("pg_log_backend_memory_contexts", SESSIONS),
    ("pg_notify", SESSIONS),
    ("pg_export_snapshot", SESSIONS),
    ("pg_prewarm", SERVER),
    ("autoprewarm_*", SERVER),
    ("pg_reload_conf", SERVER),
    ("pg_rotate_logfile*", SERVER),
    ("pg_switch_wal", SERVER),
    ("pg_switch_xlog", SERVER),
    ("pg_promote", SERVER),
    ("pg_create_restore_point", SERVER),
    ("pg_start_backup", SERVER),
    ("pg_stop_backup", SERVER),
    ("pg_backup_*", SERVER),
    ("pg_wal_replay_*", SERVER),
    ("pg_logical_*", SERVER),
    ("pg_create_*_slot", SERVER),
    ("pg_copy_*_slot", SERVER),
    ("pg_drop_replication_slot", SERVER),
    ("pg_replication_*", SERVER),
    ("pg_sync_replication_slots", SERVER),
    ("pg_stat_reset*", SERVER),
    ("pg_stat_statements_reset", SERVER),
    ("pg_stat_force_next_flush", SERVER),
    ("pg_restore_*_stats", SERVER),
    ("pg_clear_*_stats", SERVER),
    ("pg_import_system_collations", SERVER),
    ("gin_clean_pending_list", SERVER),
    ("brin_summarize_*", SERVER),
    ("brin_desummarize_range", SERVER),
    ("pg_truncate_visibility_map", SERVER),
    ("heap_force_*", SERVER),
];

const SETTINGS: &str = "it changes settings that protect this server";
const RUNS_SQL: &str = "it runs SQL from a string, which cannot be looked at beforehand";
const OTHER_SERVER: &str = "it connects to another server, where nothing is read-only";
const FILES: &str =
    "it reaches files of the database server, or writes where a rollback cannot undo it";
const LOCKS: &str = "its lock outlives the query";
const SESSIONS: &str = "it acts on other sessions";
const SERVER: &str = "it acts on the server, and a rollback does not undo it";

/// Refuses SQL in which one of the names stands.
pub(crate) fn check(sql: &str) -> Result<(), Error> {
    for name in lexer::names(sql) {
        let denied = DENIED.iter().find(|(pattern, _)| matches(pattern, &name));
        if let Some((_, reason)) = denied {
            return Err(Error::Denied { name, reason });
        }
    }
    Ok(())
}

/// At most one `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}
