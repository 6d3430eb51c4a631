//! The system calls a confined program is refused: those that would lead around the file rules,
//! to the network, into other processes or deep into the kernel. They fail with "Operation not
//! permitted", so that a program can say what it missed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::backend::wire::Confinement;

const EPERM: u32 = 1;
const EACCES: u32 = 13;
const ENOSYS: u32 = 38;
const LOAD_WORD: u16 = 0x20;
const IS_EQUAL: u16 = 0x15;
const IS_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const SECCOMP_RET_ERRNO: u32 = 0x0005_0000;
const SECCOMP_RET_ALLOW: u32 = 0x7fff_0000;
const CLONE_NEWUSER: u64 = 0x1000_0000;
/// Both type into a terminal as if its user had.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
/// From here on numbers are the second way into the same system calls on x86-64.
const X32: u32 = 0x4000_0000;
/// The same number on every architecture.
const CLONE3: u32 = 435;
/// Families of sockets that come with the network. Programs look up addresses by the last one.
const NETWORK: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

const NEVER: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
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

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Lets only the one call through that starts the program, which is known by where its path lies in
/// this process. No program can tell where that was, so none makes the same call again; and the
/// file rules would have to let it start the loader, which starts anything that can be read.
pub(crate) fn only(path_address: u64) -> Result<BpfProgram, seccompiler::Error> {
    let mut others = Rules::new();
    let elsewhere =
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, path_address)?;
    refuse(&mut others, libc::SYS_execve, vec![SeccompRule::new(vec![elsewhere])?]);
    refuse(&mut others, libc::SYS_execveat, Vec::new());
    compile(others, EACCES)
}

/// In the order they must be applied.
pub(crate) fn filters(to: &Confinement) -> Result<[BpfProgram; 2], seccompiler::Error> {
    Ok([unknown(), compile(refused(to)?, EPERM)?])
}

/// As on a kernel that has no second way, and no `clone3`: a C library that is told so uses `clone`,
/// whose flags can be looked at. A range of numbers is more than rules can say.
fn unknown() -> BpfProgram {
    // `jt` and `jf`: how many steps to skip if it is so, and if it is not.
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD_WORD, 0, 0, 0),
        step(IS_EQUAL, 1, 0, CLONE3),
        step(IS_AT_LEAST, 0, 1, X32),
        step(RETURN, 0, 0, SECCOMP_RET_ERRNO | ENOSYS),
        step(RETURN, 0, 0, SECCOMP_RET_ALLOW),
    ]
}

fn refused(to: &Confinement) -> Result<Rules, seccompiler::Error> {
    let mut rules = Rules::new();
    for number in NEVER {
        refuse(&mut rules, *number, Vec::new());
    }
    let equal = |index, op, value| -> Result<SeccompRule, seccompiler::Error> {
        let condition = SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, value)?;
        Ok(SeccompRule::new(vec![condition])?)
    };
    let new_user = SeccompCmpOp::MaskedEq(CLONE_NEWUSER);
    refuse(&mut rules, libc::SYS_clone, vec![equal(0, new_user, CLONE_NEWUSER)?]);
    // Typing into the terminal of whoever started the server.
    let typing = [TIOCSTI, TIOCLINUX].map(|request| equal(1, SeccompCmpOp::Eq, request));
    let typing = typing.into_iter().collect::<Result<_, _>>()?;
    refuse(&mut rules, libc::SYS_ioctl, typing);
    refuse(&mut rules, libc::SYS_socket, sockets(to)?);
    Ok(rules)
}

/// Sockets of all families but those granted. Pairs within a program are not made by this call.
fn sockets(to: &Confinement) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let network = if to.network { NETWORK.as_slice() } else { &[] };
    let granted = network.iter().chain(to.unix_sockets.then_some(&libc::AF_UNIX));
    let conditions = granted.map(|family| {
        let family = u64::from(family.unsigned_abs());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    });
    let all_unequal: Vec<_> = conditions.collect::<Result<_, _>>()?;
    if all_unequal.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![SeccompRule::new(all_unequal)?])
}

/// No rules: always.
fn refuse(rules: &mut Rules, number: i64, when: Vec<SeccompRule>) {
    rules.insert(number, when);
}

fn compile(rules: Rules, errno: u32) -> Result<BpfProgram, seccompiler::Error> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), architecture)?;
    Ok(filter.try_into()?)
}
