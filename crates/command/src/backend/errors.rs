//! Why nothing was run. The texts are for the model: what was wrong and what to try.

use std::path::PathBuf;

use super::policy::Class;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    // At start-up only, so these may name what the operator typed.
    #[error("--root {path:?}: {cause}")]
    Root { path: PathBuf, cause: std::io::Error },
    #[error("--policy {path:?}: {cause}")]
    PolicyFile { path: PathBuf, cause: std::io::Error },
    #[error("--command-log {path:?}: {cause}")]
    CommandLog { path: PathBuf, cause: std::io::Error },
    #[error("the policy is wrong: {reason}")]
    Policy { reason: String },
    #[error("{path:?} is in a root, where what is run could change it")]
    OwnFileInRoot { path: PathBuf },
    #[error("--sandbox required, but the self-test could not prove: {missing}")]
    NotProved { missing: String },

    #[error("`{place}` holds a NUL byte, which no program can be given")]
    NulByte { place: &'static str },
    #[error(
        "There is no program `{name}`. `command` is the name of one program, looked for in the \
         directories for programs; there is no shell. Put each argument into `args`."
    )]
    NotFound { name: String },
    #[error(
        "`{name}` is not run: it is a batch file, and whatever takes it apart would find commands in \
         the arguments. Name the program it starts."
    )]
    Batch { name: String },
    #[error(
        "The program `{name}` is not the file it was when it was first run. An operator has to \
         restart this server."
    )]
    Changed { name: String },
    #[error(
        "`{name}` is not the program of that name this server runs. Give the name without \
         directories."
    )]
    OtherFile { name: String },
    #[error(
        "`{name}` is not in the policy, so it is not run. An operator who trusts it can add this at the \
         end of the policy file:\n{lines}"
    )]
    Unclassified { name: String, lines: String },
    #[error(
        "`{name}` is not run: it is of the class `{}`, which {}, and that is not granted. An \
         operator can add this at the end of the policy file:\n{lines}",
        class.word(), class.meaning()
    )]
    NotGranted { name: String, class: Class, lines: String },
    #[error("`{name}` is not run: the argument `{argument}` {why}. describe_policy tells more.")]
    Argument { name: String, argument: String, why: &'static str },
    #[error(
        "`{name}` is not run: the subcommand `{subcommand}` is not allowed. Allowed are: {allowed}"
    )]
    Subcommand { name: String, subcommand: String, allowed: String },
    #[error(
        "The directory {name:?} is not there or not one commands may work in. describe_policy names \
         those."
    )]
    Directory { name: String },
    #[error("The variable `{name}` may not be set. Allowed are: {allowed}")]
    Variable { name: String, allowed: String },
    #[error("The arguments are longer than the system takes. Pass the data by `stdin` instead.")]
    TooLong,
    #[error("A pipeline has 1 to {max} commands.")]
    PipelineLength { max: usize },
    #[error(
        "{waiting} commands are waiting for their turn already, as many as may. Try again in a \
         second."
    )]
    Busy { waiting: usize },
    #[error("The system could not start `{name}`.")]
    Start { name: String, reason: String },
    #[error("The sandbox this server must put on a program is not to be had here.")]
    NotConfined,
    #[error("There are no terminals on this system. Leave `tty` out.")]
    NoTerminal,
    #[error("This system has no such signal. It can only end a program: `KILL`.")]
    NoSignal,
    #[error("There is no job `{id}`. list_jobs names those there are.")]
    NoJob { id: String },
    #[error("The job `{id}` has ended.")]
    Ended { id: String },
    #[error("The standard input of the job `{id}` is not open. Start it with `open_stdin`.")]
    NoInput { id: String },
    #[error("The system failed to run the command.")]
    System(#[from] std::io::Error),
}
