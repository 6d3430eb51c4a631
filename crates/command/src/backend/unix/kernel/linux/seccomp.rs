//! The system calls a confined program is refused: those that would lead around the file rules,
//! to the network, into other processes or deep into the kernel. They fail with "Operation not
//! permitted", so that a program can say what it missed.

use std::io;

use libc::{EACCES, ENOSYS, EPERM, c_long};
use seccompiler::BpfProgram;

use super::bpf::{Case, Steps, Test, allow, filter, load, next_if, next_unless, refuse};
use crate::backend::wire::Confinement;

#[cfg(test)]
mod tests;

const CLONE_NEWUSER: u32 = 0x1000_0000;
/// Never granted: `TIOCSTI` and `TIOCLINUX` type into a terminal as if its user had, `FS_IOC_SETFLAGS`
/// and `FS_IOC_FSSETXATTR` change attributes of files that only need to be open.
const CONTROLS: [u32; 4] = [0x5412, 0x541c, 0x4008_6602, 0x401c_5820];
/// From here on numbers are the second way into the same system calls on x86-64.
const X32: u32 = 0x4000_0000;
/// Families of sockets that come with the network. Programs look up addresses by the last one.
const NETWORK: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Set in the types of sockets for datagrams, `SOCK_DGRAM` and `SOCK_RAW`, and not in those of others.
const DATAGRAMS: u32 = 2;

const F_SETLEASE: u32 = 1024;

const NEVER: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Turns of the processor that outrank who has to end the call.
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    // Memory, queues and counters that belong to no process and outlive them all.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Rings do what the calls refused here do.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Views of the system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_fanotify_init,
    // Keys outlive processes.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine's name and clock.
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
];

/// Rights, owners, times and other attributes of files that only need to be read. The last of them are
/// newer than their names in the C library.
const ATTRIBUTES: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    FCHMODAT2,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
];
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_SETATTR: c_long = 469;
/// The same by calls newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLDER_ATTRIBUTES: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_ATTRIBUTES: &[c_long] = &[];

/// What their first argument says in these: the number of a process. The kernel lets everybody do
/// this to all processes of their user, the helper and the server among them.
const TO_A_PROCESS: &[c_long] = &[libc::SYS_prlimit64, libc::SYS_sched_setaffinity];
/// The same, where the first argument says what the second is the number of: with these a process.
const TO_SOMEBODY: &[(c_long, u32)] =
    &[(libc::SYS_setpriority, PRIO_PROCESS), (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS)];
const PRIO_PROCESS: u32 = 0;
const IOPRIO_WHO_PROCESS: u32 = 1;

/// What every program is refused.
pub(crate) fn refused(to: &Confinement) -> io::Result<BpfProgram> {
    let mut cases: Vec<Case> = NEVER.iter().map(|call| case(*call, vec![refuse(EPERM)])).collect();
    cases.extend([
        // A C library that is told so uses `clone`, whose flags can be looked at.
        case(libc::SYS_clone3, vec![refuse(ENOSYS)]),
        case(
            libc::SYS_clone,
            vec![load(0, 0), next_if(Test::HasBit, CLONE_NEWUSER), refuse(EPERM), allow()],
        ),
        case(libc::SYS_ioctl, controls()),
        // Whoever opens a file with a lease on it waits for its holder.
        case(
            libc::SYS_fcntl,
            vec![load(1, 0), next_if(Test::IsEqual, F_SETLEASE), refuse(EPERM), allow()],
        ),
        case(libc::SYS_socket, sockets(to)),
        case(libc::SYS_socketpair, pairs(to)),
    ]);
    if !to.sets_attributes {
        let all = ATTRIBUTES.iter().chain(OLDER_ATTRIBUTES);
        cases.extend(all.map(|call| case(*call, vec![refuse(EPERM)])));
    }
    cases.extend(TO_A_PROCESS.iter().map(|call| case(*call, to_itself(0))));
    cases.extend(TO_SOMEBODY.iter().map(|(call, process)| {
        let who = [load(0, 0), next_unless(Test::IsEqual, *process), refuse(EPERM)];
        case(*call, [who.to_vec(), to_itself(1)].concat())
    }));
    filter(cases, X32)
}

fn controls() -> Steps {
    let mut steps = vec![load(1, 0)];
    steps.extend(CONTROLS.iter().flat_map(|it| [next_if(Test::IsEqual, *it), refuse(EPERM)]));
    steps.push(allow());
    steps
}

/// Only if this argument is 0, the caller itself, and not the number of a process.
fn to_itself(argument: u32) -> Steps {
    vec![load(argument, 0), next_if(Test::IsEqual, 0), allow(), refuse(EPERM)]
}

/// Sockets of all families but those granted.
fn sockets(to: &Confinement) -> Steps {
    let network = if to.network { NETWORK.as_slice() } else { &[] };
    let granted = network.iter().chain(to.unix_sockets.then_some(&libc::AF_UNIX));
    let mut steps = vec![load(0, 0)];
    steps.extend(
        granted.flat_map(|family| [next_if(Test::IsEqual, family.unsigned_abs()), allow()]),
    );
    steps.push(refuse(EPERM));
    steps
}

/// Pairs stay within a program, but not those for datagrams, which can be sent to anybody.
fn pairs(to: &Confinement) -> Steps {
    let mut steps = vec![
        load(0, 0),
        next_unless(Test::IsEqual, libc::AF_UNIX.unsigned_abs()),
        refuse(EPERM),
        load(1, 0),
    ];
    if !to.unix_sockets {
        steps.extend([next_if(Test::HasBit, DATAGRAMS), refuse(EPERM)]);
    }
    steps.push(allow());
    steps
}

/// Lets only the one call through that starts the program, which is known by where its path lies in
/// this process: a program that is told to start another has its path elsewhere. The file rules
/// would have to let it start the loader, which starts anything that can be read.
pub(crate) fn only(path_address: u64) -> io::Result<BpfProgram> {
    let [lower, upper] = [path_address as u32, (path_address >> 32) as u32];
    let start = vec![
        load(0, 0),
        next_unless(Test::IsEqual, lower),
        refuse(EACCES),
        load(0, 1),
        next_unless(Test::IsEqual, upper),
        refuse(EACCES),
        allow(),
    ];
    filter(vec![case(libc::SYS_execve, start), case(libc::SYS_execveat, vec![refuse(EACCES)])], X32)
}

fn case(call: c_long, steps: Steps) -> Case {
    (call as u32, steps)
}
