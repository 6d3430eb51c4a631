//! What the filters decide about every call there is, by the kernel's rules for running them. That
//! the kernel does the same is for `crate::tests::confined`.

use libc::{AF_INET, AF_UNIX, EACCES, ENOSYS, EPERM, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO};
use seccompiler::BpfProgram;

use super::{ATTRIBUTES, NEVER, OLDER_ATTRIBUTES, X32, only, refused};
use crate::backend::wire::Confinement;

const ALLOWED: u32 = SECCOMP_RET_ALLOW;
/// More than any system has calls.
const NUMBERS: std::ops::Range<u32> = 0..1024;

/// Of a call of this machine's architecture.
fn verdict(filter: &BpfProgram, number: u32, arguments: [u64; 2]) -> u32 {
    run(filter, number, filter[1].k, arguments)
}

fn run(filter: &BpfProgram, number: u32, architecture: u32, arguments: [u64; 2]) -> u32 {
    let [first, second] = arguments.map(|value| [value as u32, (value >> 32) as u32]);
    let (mut at, mut loaded) = (0, 0);
    loop {
        let step = &filter[at];
        let (value, holds) = (step.k, |test: bool| if test { step.jt } else { step.jf });
        at += 1;
        at += usize::from(match step.code {
            0x06 => return value,
            0x20 => {
                loaded = match value {
                    0 => number,
                    4 => architecture,
                    16 | 20 => first[(value as usize - 16) / 4],
                    24 | 28 => second[(value as usize - 24) / 4],
                    other => panic!("nothing is at {other}"),
                };
                0
            }
            0x15 => holds(loaded == value),
            0x35 => holds(loaded >= value),
            0x45 => holds(loaded & value != 0),
            other => panic!("{other} is no step"),
        });
    }
}

fn error(errno: i32) -> u32 {
    SECCOMP_RET_ERRNO | errno as u32
}

#[test]
fn every_number_has_the_right_verdict() {
    let filter = refused(&Confinement::default()).unwrap();
    for number in NUMBERS {
        let right = match i64::from(number) {
            libc::SYS_clone3 => error(ENOSYS),
            libc::SYS_socket | libc::SYS_socketpair | libc::SYS_ioprio_set => error(EPERM),
            never if NEVER.contains(&never) => error(EPERM),
            other if ATTRIBUTES.contains(&other) => error(EPERM),
            older if OLDER_ATTRIBUTES.contains(&older) => error(EPERM),
            _ => ALLOWED,
        };
        assert_eq!(verdict(&filter, number, [0, 0]), right, "{number}");
        assert_eq!(verdict(&filter, X32 + number, [0, 0]), error(ENOSYS), "{number}");
        // Numbers mean something else there.
        let other_architecture = filter[1].k ^ 1;
        assert_eq!(run(&filter, number, other_architecture, [0, 0]) >> 31, 1, "{number}");
    }
}

#[test]
fn arguments_decide_about_some() {
    let of = |network, unix_sockets| {
        refused(&Confinement { network, unix_sockets, ..Confinement::default() }).unwrap()
    };
    let (none, network, unix) = (of(false, false), of(true, false), of(false, true));
    let writer = refused(&Confinement { sets_attributes: true, ..Confinement::default() }).unwrap();
    const UPPER: u64 = 7 << 32;
    const CLOEXEC: u64 = libc::SOCK_CLOEXEC as u64 | libc::SOCK_NONBLOCK as u64;
    let [inet, local] = [AF_INET as u64, AF_UNIX as u64];
    for (filter, call, arguments, right) in [
        (&none, libc::SYS_clone, [0x0120_0011, 0], ALLOWED),
        (&none, libc::SYS_clone, [0x1000_0011, 0], error(EPERM)),
        (&none, libc::SYS_clone, [UPPER | 0x7e02_0000, 0], error(EPERM)),
        (&none, libc::SYS_ioctl, [0, 0x5401], ALLOWED),
        (&none, libc::SYS_ioctl, [0, 0x5412], error(EPERM)),
        (&none, libc::SYS_ioctl, [0, UPPER | 0x541c], error(EPERM)),
        (&writer, libc::SYS_ioctl, [0, 0x4008_6602], error(EPERM)),
        (&writer, libc::SYS_ioctl, [0, 0x401c_5820], error(EPERM)),
        (&writer, libc::SYS_fchmod, [0, 0], ALLOWED),
        (&writer, libc::SYS_utimensat, [0, 0], ALLOWED),
        (&writer, libc::SYS_fcntl, [0, 1024], error(EPERM)),
        (&writer, libc::SYS_fcntl, [0, 1025], ALLOWED),
        (&none, libc::SYS_prlimit64, [UPPER, 0], ALLOWED),
        (&none, libc::SYS_prlimit64, [1, 0], error(EPERM)),
        (&none, libc::SYS_sched_setaffinity, [0, 8], ALLOWED),
        (&none, libc::SYS_sched_setaffinity, [1, 0], error(EPERM)),
        (&none, libc::SYS_setpriority, [0, 0], ALLOWED),
        (&none, libc::SYS_setpriority, [0, 1], error(EPERM)),
        (&none, libc::SYS_setpriority, [1, 0], error(EPERM)),
        (&none, libc::SYS_setpriority, [2, 0], error(EPERM)),
        (&none, libc::SYS_ioprio_set, [1, 0], ALLOWED),
        (&none, libc::SYS_ioprio_set, [1, 1], error(EPERM)),
        (&none, libc::SYS_ioprio_set, [3, 0], error(EPERM)),
        (&none, libc::SYS_socket, [inet, 0], error(EPERM)),
        (&none, libc::SYS_socket, [local, 0], error(EPERM)),
        (&network, libc::SYS_socket, [inet, 0], ALLOWED),
        (&network, libc::SYS_socket, [UPPER | inet, 0], ALLOWED),
        (&network, libc::SYS_socket, [local, 0], error(EPERM)),
        (&network, libc::SYS_socket, [17, 0], error(EPERM)),
        (&none, libc::SYS_socketpair, [local, 1], ALLOWED),
        (&none, libc::SYS_socketpair, [local, 5 | CLOEXEC], ALLOWED),
        (&none, libc::SYS_socketpair, [local, 2], error(EPERM)),
        (&none, libc::SYS_socketpair, [local, 2 | CLOEXEC], error(EPERM)),
        (&none, libc::SYS_socketpair, [local, UPPER | 3], error(EPERM)),
        (&network, libc::SYS_socketpair, [inet, 1], error(EPERM)),
        (&unix, libc::SYS_socketpair, [local, 2], ALLOWED),
        (&unix, libc::SYS_socketpair, [30, 1], error(EPERM)),
        (&unix, libc::SYS_socket, [local, 0], ALLOWED),
        (&unix, libc::SYS_socket, [inet, 0], error(EPERM)),
    ] {
        assert_eq!(verdict(filter, call as u32, arguments), right, "{call} {arguments:x?}");
    }
}

#[test]
fn only_one_call_starts_the_program() {
    const PATH: u64 = 0x7f12_3456_789a;
    let filter = only(PATH).unwrap();
    let [start, start_at] = [libc::SYS_execve as u32, libc::SYS_execveat as u32];
    assert_eq!(verdict(&filter, start, [PATH, 0]), ALLOWED);
    for elsewhere in [0, PATH + 1, PATH ^ (1 << 32), PATH << 8, PATH & 0xffff_ffff] {
        assert_eq!(verdict(&filter, start, [elsewhere, PATH]), error(EACCES), "{elsewhere:x}");
    }
    for number in NUMBERS.filter(|number| *number != start) {
        let right = if number == start_at { error(EACCES) } else { ALLOWED };
        assert_eq!(verdict(&filter, number, [PATH, PATH]), right, "{number}");
    }
}
