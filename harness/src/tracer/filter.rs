//! Which calls stop a program, as a seccomp filter. It looks at the arguments too, so that a call that can do nothing
//! to a store, such as an open that only reads, costs nothing.

use super::sys::Instruction;

/// The architecture whose calls are understood.
pub(super) const ARCH: u32 = 0xc000_003e;
/// The bit in the numbers of the x32 table.
pub(super) const X32: u32 = 0x4000_0000;

/// A call that stops.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) number: i64,
    /// The system's own name for it.
    pub(super) name: &'static str,
    pub(super) when: When,
}

/// What an argument must be for a call to stop.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Always,
    /// One of these bits is set in this argument.
    Any(u8, u32),
    /// This bit is set in this argument, and that one is not.
    OnlyFirst(u8, u32, u32),
    /// The argument is one of these.
    OneOf(u8, &'static [u32]),
    /// The argument is one of these, and another is a pointer to something.
    OneOfPointing(u8, &'static [u32], u8),
}

/// Opens that may change names or bytes. The last is `O_TMPFILE` without the bits it shares with `O_DIRECTORY`.
const CHANGES: u32 = (libc::O_CREAT | libc::O_TRUNC) as u32 | 0o20_000_000;
/// `FICLONE`, `FICLONERANGE`, `FS_IOC_RESVSP` and its kin, `EXT4_IOC_MOVE_EXT`, `EXT4_IOC_SWAP_BOOT`, and the atomic
/// writes of F2FS.
const CHANGING_IOCTLS: &[u32] = &[
    0x4004_9409,
    0x4020_940d,
    0x4030_5828,
    0x4030_5829,
    0x4030_582a,
    0x4030_582b,
    0x4030_5839,
    0xc028_660f,
    0x6611,
    0xf501,
    0xf502,
    0xf505,
];

pub(super) const fn rule(number: i64, name: &'static str) -> Rule {
    Rule { number, name, when: When::Always }
}

pub(super) const fn if_(number: i64, name: &'static str, when: When) -> Rule {
    Rule { number, name, when }
}

/// Every call that may change a store, and so stops, at least with some arguments.
pub(super) const RULES: &[Rule] = &[
    rule(libc::SYS_write, "write"),
    rule(libc::SYS_pwrite64, "pwrite64"),
    rule(libc::SYS_writev, "writev"),
    rule(libc::SYS_pwritev, "pwritev"),
    rule(libc::SYS_pwritev2, "pwritev2"),
    rule(libc::SYS_sendto, "sendto"),
    rule(libc::SYS_sendmsg, "sendmsg"),
    rule(libc::SYS_sendmmsg, "sendmmsg"),
    rule(libc::SYS_sendfile, "sendfile"),
    rule(libc::SYS_copy_file_range, "copy_file_range"),
    rule(libc::SYS_splice, "splice"),
    rule(libc::SYS_vmsplice, "vmsplice"),
    rule(libc::SYS_tee, "tee"),
    rule(libc::SYS_fdatasync, "fdatasync"),
    rule(libc::SYS_fsync, "fsync"),
    rule(libc::SYS_sync, "sync"),
    rule(libc::SYS_syncfs, "syncfs"),
    rule(libc::SYS_ftruncate, "ftruncate"),
    rule(libc::SYS_truncate, "truncate"),
    rule(libc::SYS_fallocate, "fallocate"),
    if_(libc::SYS_open, "open", When::Any(1, CHANGES)),
    if_(libc::SYS_openat, "openat", When::Any(2, CHANGES)),
    rule(libc::SYS_openat2, "openat2"),
    rule(libc::SYS_creat, "creat"),
    rule(libc::SYS_link, "link"),
    rule(libc::SYS_linkat, "linkat"),
    rule(libc::SYS_symlink, "symlink"),
    rule(libc::SYS_symlinkat, "symlinkat"),
    rule(libc::SYS_unlink, "unlink"),
    rule(libc::SYS_unlinkat, "unlinkat"),
    rule(libc::SYS_rmdir, "rmdir"),
    rule(libc::SYS_mkdir, "mkdir"),
    rule(libc::SYS_mkdirat, "mkdirat"),
    rule(libc::SYS_mknod, "mknod"),
    rule(libc::SYS_mknodat, "mknodat"),
    rule(libc::SYS_rename, "rename"),
    rule(libc::SYS_renameat, "renameat"),
    rule(libc::SYS_renameat2, "renameat2"),
    if_(libc::SYS_ioctl, "ioctl", When::OneOf(1, CHANGING_IOCTLS)),
    if_(libc::SYS_mmap, "mmap", When::OnlyFirst(3, libc::MAP_SHARED as u32, libc::MAP_ANONYMOUS as u32)),
    if_(libc::SYS_mprotect, "mprotect", When::Any(2, libc::PROT_WRITE as u32)),
    if_(libc::SYS_pkey_mprotect, "pkey_mprotect", When::Any(2, libc::PROT_WRITE as u32)),
    rule(libc::SYS_io_uring_setup, "io_uring_setup"),
    rule(libc::SYS_io_submit, "io_submit"),
];

/// The name of a call that stops.
pub(super) fn name(number: u64) -> Option<&'static str> {
    RULES.iter().find(|rule| rule.number as u64 == number).map(|rule| rule.name)
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_ANY: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const fn load(offset: u32) -> Instruction {
    Instruction(LOAD, 0, 0, offset)
}

/// The lower half of an argument. Every argument looked at is a 32-bit one to the kernel, or a pointer.
const fn argument(index: u8) -> Instruction {
    load(16 + 8 * index as u32)
}

/// The upper half of an argument.
const fn upper(index: u8) -> Instruction {
    load(20 + 8 * index as u32)
}

const STOP: Instruction = Instruction(RETURN, 0, 0, libc::SECCOMP_RET_TRACE);
const PASS: Instruction = Instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW);

/// The filter of these rules. Calls by another table than the 64-bit one stop always: a number means something else there.
pub(super) fn program<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Vec<Instruction> {
    let mut program =
        vec![load(4), Instruction(IF_EQUAL, 1, 0, ARCH), STOP, load(0), Instruction(IF_ANY, 0, 1, X32), STOP];
    for rule in rules {
        let then = condition(rule.when);
        program.push(Instruction(IF_EQUAL, 0, then.len() as u8, rule.number as u32));
        program.extend(then);
    }
    program.push(PASS);
    program
}

/// What follows once the number fits: it ends with a return each way.
fn condition(when: When) -> Vec<Instruction> {
    match when {
        When::Always => vec![STOP],
        When::Any(index, bits) => vec![argument(index), Instruction(IF_ANY, 0, 1, bits), STOP, PASS],
        When::OnlyFirst(index, bit, without) => {
            vec![argument(index), Instruction(IF_ANY, 0, 2, bit), Instruction(IF_ANY, 1, 0, without), STOP, PASS]
        }
        When::OneOf(index, values) => {
            let mut then = vec![argument(index)];
            for value in values {
                then.extend([Instruction(IF_EQUAL, 0, 1, *value), STOP]);
            }
            then.push(PASS);
            then
        }
        When::OneOfPointing(index, values, pointer) => {
            let mut then = vec![argument(index)];
            let points = [
                argument(pointer),
                Instruction(IF_EQUAL, 0, 2, 0),
                upper(pointer),
                Instruction(IF_EQUAL, 1, 0, 0),
                STOP,
                PASS,
            ];
            for (at, value) in values.iter().enumerate() {
                // Over the values behind it, and the pass behind them.
                then.push(Instruction(IF_EQUAL, (values.len() - at) as u8, 0, *value));
            }
            then.push(PASS);
            then.extend(points);
            then
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the kernel would do, in the words of its own documentation of classic BPF.
    fn run(program: &[Instruction], arch: u32, number: u32, args: [u64; 6]) -> Instruction {
        let (mut at, mut value) = (0, 0);
        loop {
            let Instruction(code, yes, no, k) = program[at];
            at += 1;
            let holds = match code {
                LOAD => {
                    value = match k {
                        0 => number,
                        4 => arch,
                        argument => {
                            let whole = args[(argument as usize - 16) / 8];
                            if argument % 8 == 0 { whole as u32 } else { (whole >> 32) as u32 }
                        }
                    };
                    continue;
                }
                RETURN => return program[at - 1],
                IF_EQUAL => value == k,
                IF_ANY => value & k != 0,
                other => panic!("operation {other} is not one of ours"),
            };
            at += usize::from(if holds { yes } else { no });
        }
    }

    fn all() -> impl Iterator<Item = &'static Rule> {
        RULES.iter().chain(super::super::clock::RULES)
    }

    proptest! {
        #[test]
        fn exactly_what_the_rules_name_stops(
            rule in prop::sample::select(all().collect::<Vec<_>>()),
            other in 0..500_i64,
            argument in prop_oneof![any::<u64>(), any::<u32>().prop_map(u64::from), 0..400_u64, any::<u32>().prop_map(|half| u64::from(half) << 32)],
        ) {
            for number in [rule.number, other] {
                let bits = argument as u32;
                // The rule that comes first counts.
                let stops = all().find(|rule| rule.number == number).is_some_and(|rule| match rule.when {
                    When::Always => true,
                    When::Any(_, wanted) => bits & wanted != 0,
                    When::OnlyFirst(_, bit, without) => bits & bit != 0 && bits & without == 0,
                    When::OneOf(_, values) => values.contains(&bits),
                    When::OneOfPointing(_, values, _) => values.contains(&bits) && argument != 0,
                });
                let found = run(&program(all()), ARCH, number as u32, [argument; 6]);
                prop_assert_eq!(found, if stops { STOP } else { PASS });
            }
        }
    }

    #[test]
    fn a_call_that_points_to_no_limit_does_not_stop() {
        let futex =
            |operation, limit| run(&program(all()), ARCH, libc::SYS_futex as u32, [0, operation, 0, limit, 0, 0]);
        assert_eq!(futex(0, 1), STOP);
        assert_eq!(futex(397, 1 << 32), STOP);
        assert_eq!(futex(0, 0), PASS);
        assert_eq!(futex(1, 1), PASS);
    }

    #[test]
    fn each_changing_ioctl_stops_and_another_does_not() {
        let ioctl = |request| run(&program(RULES), ARCH, libc::SYS_ioctl as u32, [0, request, 0, 0, 0, 0]);
        for request in CHANGING_IOCTLS {
            assert_eq!(ioctl(u64::from(*request)), STOP, "{request:x}");
        }
        assert_eq!(ioctl(libc::TCGETS), PASS);
    }

    #[test]
    fn every_call_of_another_table_stops() {
        assert_eq!(run(&program(RULES), 0x4000_0003, 3, [0; 6]), STOP);
        assert_eq!(run(&program(RULES), ARCH, X32 | 3, [0; 6]), STOP);
    }
}
