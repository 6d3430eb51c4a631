//! Known attacks on servers of this kind, and the faults other servers were reported to have: which
//! test shows that this one has none of them. The numbers are those of the list they were collected
//! in; rows that are missing there are missing here. What takes a server that is killed, or many
//! thousand calls, is tested for the whole workspace as well, with the server as a process.

/// Attacks: what is tried, and the tests that try it.
const ATTACKS: &[(u8, &str, &[&str])] = &[
    (1, "a shell's text as the command", &["a_command_is_never_taken_apart"]),
    (
        2,
        "a shell's text, nothing and line breaks as arguments",
        &["arguments_reach_the_program_as_they_are", "any_arguments_reach_the_program_as_they_are"],
    ),
    (3, "NUL and `=` where they cannot be", &["what_no_program_can_be_given_is_refused"]),
    (
        4,
        "git's options that run or write",
        &["arguments_not_listed_are_refused", "git_is_told_to_run_nothing"],
    ),
    (5, "a hostile repository", &["a_hostile_repository_runs_nothing"]),
    (
        7,
        "wrappers, interpreters and the loader",
        &[
            "wrappers_and_interpreters_are_a_class_of_their_own",
            "a_program_of_the_class_data_does_not_start_the_loader_either",
        ],
    ),
    (
        8,
        "options of tar, sort, sed and their like that run or write",
        &[
            "arguments_not_listed_are_refused",
            "wrappers_and_interpreters_are_a_class_of_their_own",
            "a_program_of_the_class_data_writes_and_starts_nothing",
        ],
    ),
    (
        9,
        "a program put in the place of another",
        &[
            "programs_come_from_safe_places_only",
            "a_program_that_changes_is_not_run_again",
            "a_path_must_lead_to_the_very_program",
        ],
    ),
    (11, "variables that run code", &["no_variable_can_make_a_program_run_another"]),
    (
        12,
        "the server's environment",
        &["the_environment_is_made_for_it", "files_outside_are_neither_read_nor_written"],
    ),
    (13, "a program that reads what nobody gives it", &["input_is_nothing_unless_given"]),
    (14, "a message of the protocol as output", &["a_result_says_what_was_done_to_it"]),
    (15, "descriptors of the server", &["only_three_descriptors_are_open"]),
    (
        16,
        "a fork bomb",
        &[
            "too_many_processes_are_ended",
            "a_limit_of_processes_is_the_kernels_if_it_is_said_to_be",
        ],
    ),
    (
        18,
        "children, sessions, double forks, traps",
        &[
            "a_timeout_leaves_nothing",
            "a_cancelled_call_leaves_nothing",
            "a_server_that_goes_leaves_nothing",
            "what_a_program_leaves_behind_ends_with_it",
        ],
    ),
    (20, "zombies, and the end of the server", &["a_server_that_goes_leaves_nothing"]),
    (22, "text that acts on a terminal or hides", &["what_acts_is_taken_out_or_shown"]),
    (23, "secrets in the output", &["secrets_of_the_server_are_masked"]),
    (
        25,
        "options in the place of operands",
        &[
            "arguments_not_listed_are_refused",
            "a_program_of_the_class_data_writes_and_starts_nothing",
        ],
    ),
    (
        26,
        "hooks and settings that run later, also where there are none",
        &["what_is_there_is_not_changed", "what_is_not_there_is_not_made"],
    ),
    (27, "sockets of other programs", &["no_service_of_this_machine_is_reached"]),
    (28, "datagrams and raw sockets", &["there_is_no_network_and_no_socket_of_this_machine"]),
    (
        29,
        "signals, tracing, typing for others",
        &[
            "no_signal_reaches_the_server_or_the_helper",
            "nothing_is_typed_into_a_terminal_and_no_process_is_traced",
        ],
    ),
    (30, "rings, name spaces, mounts, keys", &["system_calls_that_lead_around_are_refused"]),
    (
        31,
        "sudo and files that change the user",
        &[
            "a_file_that_changes_the_user_does_not",
            "no_program_gains_privileges",
            "programs_that_change_the_user_are_not_among_those_that_run",
        ],
    ),
    (
        32,
        "a thousand calls, arguments without end",
        &[
            "a_thousand_calls_are_answered_or_refused",
            "many_arguments_arrive_and_too_many_are_refused",
            "sixteen_at_a_time_take_no_longer_than_one",
        ],
    ),
    (34, "the number of a process that has ended", &["no_signal_goes_to_a_number"]),
    (35, "more than a limit", &["many_arguments_arrive_and_too_many_are_refused"]),
    (36, "hints that lie", &["the_hints_do_not_lie"]),
];

/// Faults: what was reported, and the tests that it is not so here.
const FAULTS: &[(u8, &str, &[&str])] = &[
    (1, "echo; sudo rm", &["a_command_is_never_taken_apart"]),
    (2, "$( ) within quotes", &["a_command_is_never_taken_apart"]),
    (3, "a path around a list of names", &["a_path_must_lead_to_the_very_program"]),
    (4, "a pattern as a name", &["a_command_is_never_taken_apart"]),
    (5, "a second line", &["a_command_is_never_taken_apart"]),
    (7, "<( )", &["a_command_is_never_taken_apart"]),
    (8, "${ :- }", &["a_command_is_never_taken_apart"]),
    (10, "no standard input", &["input_is_nothing_unless_given"]),
    (11, "ssh takes the input, and nothing answers", &["input_is_nothing_unless_given"]),
    (12, "an environment without what is needed", &["the_environment_is_made_for_it"]),
    (14, "protection that is claimed", &["what_holds_is_said"]),
    (15, "$( ) in an argument", &["arguments_reach_the_program_as_they_are"]),
    (16, "ls ..", &["paths_outside_are_refused_before_the_kernel_has_to"]),
    (17, "git -c", &["arguments_not_listed_are_refused"]),
    (18, "find -fls, sort, uniq", &["arguments_not_listed_are_refused"]),
    (19, "a line break in the name", &["a_command_is_never_taken_apart"]),
    (20, "; in the command", &["a_command_is_never_taken_apart"]),
    (21, "only the first word is looked at", &["a_command_is_never_taken_apart"]),
    (23, "a timeout of 2 s that takes 400", &["a_timeout_leaves_nothing"]),
    (25, "a timeout a server ignores", &["a_timeout_leaves_nothing"]),
    (
        27,
        "a long output ends the program, and its end is lost",
        &[
            "a_flood_is_counted_and_its_ends_are_kept",
            "of_a_long_output_the_start_and_the_end_are_shown",
        ],
    ),
    (
        28,
        "a cancelled call that takes its place for ever",
        &["a_cancelled_call_makes_room", "a_cancelled_call_leaves_nothing"],
    ),
    (29, "children of a killed parent", &["what_a_program_leaves_behind_ends_with_it"]),
    (30, "yes & left for hours", &["what_a_program_leaves_behind_ends_with_it"]),
    (31, "a loop left behind", &["what_a_program_leaves_behind_ends_with_it"]),
    (33, "a password asked for", &["a_program_has_no_terminal_to_ask_at"]),
    (
        34,
        "a sandbox without pairs of sockets, or that fails where it cannot be had",
        &["there_is_no_network_and_no_socket_of_this_machine", "what_holds_is_said"],
    ),
    (35, "a sandbox that breaks a pipe", &["a_pipeline_needs_no_shell"]),
    (36, "a sandbox that is there and does not work", &["what_holds_is_said"]),
    (37, "sockets with files lead out", &["no_service_of_this_machine_is_reached"]),
    (38, "a child reads the protocol", &["input_is_nothing_unless_given"]),
    (39, "a child writes into the protocol", &["a_result_says_what_was_done_to_it"]),
    (40, "a server that survives its client", &["a_server_that_goes_leaves_nothing"]),
    (42, "nohup and double forks", &["a_timeout_leaves_nothing"]),
    (45, "options for the program's own controls", &["arguments_not_listed_are_refused"]),
];

const SOURCES: &[&str] = &[
    include_str!("running.rs"),
    include_str!("refused.rs"),
    include_str!("programs.rs"),
    include_str!("confined.rs"),
    include_str!("privileged.rs"),
    include_str!("protected.rs"),
    include_str!("crowded.rs"),
    include_str!("survivors.rs"),
    include_str!("printed.rs"),
    include_str!("told.rs"),
];

#[test]
fn every_row_has_tests() {
    let numbers = |rows: &[(u8, &str, &[&str])]| rows.iter().map(|row| row.0).collect::<Vec<_>>();
    let listed = [
        1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 15, 16, 18, 20, 22, 23, 25, 26, 27, 28, 29, 30, 31,
        32, 34, 35, 36,
    ];
    assert_eq!(numbers(ATTACKS), listed);
    let listed = [
        1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 25, 27, 28, 29, 30,
        31, 33, 34, 35, 36, 37, 38, 39, 40, 42, 45,
    ];
    assert_eq!(numbers(FAULTS), listed);
    for (number, what, tests) in ATTACKS.iter().chain(FAULTS) {
        assert!(!tests.is_empty(), "{number}: {what}");
        for test in *tests {
            let begins = [
                format!("#[tokio::test]\nasync fn {test}() {{"),
                format!("#[test]\nfn {test}() {{"),
            ];
            let is_there =
                begins.iter().any(|begin| SOURCES.iter().any(|text| text.contains(begin)));
            assert!(is_there, "{number} ({what}): there is no test {test}");
        }
    }
}
