//! Filters of system calls, in the kernel's language for them. When one is applied the kernel runs it
//! for every number there is, so it searches for the number; a list takes ten times the steps.

use std::io;
use std::num::TryFromIntError;

use libc::{ENOSYS, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS};
use seccompiler::{BpfProgram, sock_filter};

const LOAD: u16 = 0x20;
const RETURN: u16 = 0x06;
/// Where things lie in what a filter looks at.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Of what was loaded last.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    IsEqual = 0x15,
    IsAtLeast = 0x35,
    HasBit = 0x45,
}

pub(super) type Steps = Vec<sock_filter>;

/// The number of a call, and what is done about it. The steps end with a verdict.
pub(super) type Case = (u32, Steps);

/// Calls without a case are allowed, those of another architecture are fatal, and those with a number
/// of `unknown_from` on are answered as if they did not exist.
pub(super) fn filter(mut cases: Vec<Case>, unknown_from: u32) -> io::Result<BpfProgram> {
    cases.sort_by_key(|(number, _)| *number);
    let too_long = |_: TryFromIntError| io::Error::other("the filter of system calls is too long");
    let search = search(&cases).map_err(too_long)?;
    let prologue = [
        step(LOAD, ARCHITECTURE),
        next_unless(Test::IsEqual, architecture()?),
        step(RETURN, SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER),
        next_if(Test::IsAtLeast, unknown_from),
        refuse(ENOSYS),
    ];
    Ok([prologue.to_vec(), search].concat())
}

fn search(cases: &[Case]) -> Result<Steps, TryFromIntError> {
    let (lower, upper) = cases.split_at(cases.len() / 2);
    let Some((first, then)) = upper.first() else { return Ok(vec![allow()]) };
    if lower.is_empty() {
        return Ok([when(Test::IsEqual, *first, then)?, vec![allow()]].concat());
    }
    Ok([when(Test::IsAtLeast, *first, &search(upper)?)?, search(lower)?].concat())
}

/// `then` is skipped otherwise.
fn when(test: Test, value: u32, then: &[sock_filter]) -> Result<Steps, TryFromIntError> {
    let test = sock_filter { code: test as u16, jt: 0, jf: u8::try_from(then.len())?, k: value };
    Ok([&[test], then].concat())
}

pub(super) fn allow() -> sock_filter {
    step(RETURN, SECCOMP_RET_ALLOW)
}

/// The call fails with this error.
pub(super) fn refuse(errno: i32) -> sock_filter {
    step(RETURN, SECCOMP_RET_ERRNO | errno.unsigned_abs())
}

/// Half of an argument: 0 is the lower one.
pub(super) fn load(argument: u32, half: u32) -> sock_filter {
    step(LOAD, ARGUMENTS + 8 * argument + 4 * half)
}

/// The next step is skipped otherwise.
pub(super) fn next_if(test: Test, value: u32) -> sock_filter {
    sock_filter { code: test as u16, jt: 0, jf: 1, k: value }
}

/// The next step is skipped if it is so.
pub(super) fn next_unless(test: Test, value: u32) -> sock_filter {
    sock_filter { code: test as u16, jt: 1, jf: 0, k: value }
}

fn step(code: u16, value: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k: value }
}

/// By the kernel's name for it.
fn architecture() -> io::Result<u32> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(0xc000_003e),
        "aarch64" => Ok(0xc000_00b7),
        "riscv64" => Ok(0xc000_00f3),
        other => Err(io::Error::other(format!("the filter of system calls is not for {other}"))),
    }
}
