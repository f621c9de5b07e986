//! Which calls stop a program whose time is kept, besides those that change a store.

use crate::tracer::filter::{Rule, When, if_, rule};
use crate::tracer::sys::Entry;

/// The clocks that are not the processor's own time.
const CLOCKS: &[u32] = &[0, 1, 4, 5, 6, 7, 8, 9, 11];
/// The ways to wait for a futex that know a limit, with each of their flags.
const FUTEXES: &[u32] = &[0, 128, 256, 384, 9, 137, 265, 393, 6, 134, 262, 390, 11, 139, 267, 395, 13, 141, 269, 397];
/// `SO_RCVTIMEO`, old and new.
const RECEIVE_LIMITS: &[u32] = &[20, 66];
/// More than nothing, as a number with a sign.
const POSITIVE: (u32, u32) = (0x7fff_ffff, 0x8000_0000);
const SYS_IO_PGETEVENTS: i64 = 333;
const SYS_FUTEX_WAITV: i64 = 449;

/// The calls.
pub(in crate::tracer) const RULES: &[Rule] = &[
    if_(libc::SYS_clock_gettime, "clock_gettime", When::OneOf(0, CLOCKS)),
    rule(libc::SYS_gettimeofday, "gettimeofday"),
    rule(libc::SYS_time, "time"),
    rule(libc::SYS_nanosleep, "nanosleep"),
    if_(libc::SYS_clock_nanosleep, "clock_nanosleep", When::OneOf(0, CLOCKS)),
    if_(libc::SYS_poll, "poll", When::OnlyFirst(2, POSITIVE.0, POSITIVE.1)),
    if_(libc::SYS_epoll_wait, "epoll_wait", When::OnlyFirst(3, POSITIVE.0, POSITIVE.1)),
    if_(libc::SYS_epoll_pwait, "epoll_pwait", When::OnlyFirst(3, POSITIVE.0, POSITIVE.1)),
    rule(libc::SYS_epoll_pwait2, "epoll_pwait2"),
    rule(libc::SYS_ppoll, "ppoll"),
    rule(libc::SYS_select, "select"),
    rule(libc::SYS_pselect6, "pselect6"),
    if_(libc::SYS_futex, "futex", When::OneOfPointing(1, FUTEXES, 3)),
    rule(libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
    rule(libc::SYS_alarm, "alarm"),
    rule(libc::SYS_setitimer, "setitimer"),
    rule(libc::SYS_getitimer, "getitimer"),
    rule(libc::SYS_timer_create, "timer_create"),
    rule(libc::SYS_timer_settime, "timer_settime"),
    rule(libc::SYS_timer_gettime, "timer_gettime"),
    rule(libc::SYS_timer_getoverrun, "timer_getoverrun"),
    rule(libc::SYS_timer_delete, "timer_delete"),
    rule(libc::SYS_timerfd_settime, "timerfd_settime"),
    rule(libc::SYS_timerfd_gettime, "timerfd_gettime"),
    if_(libc::SYS_setsockopt, "setsockopt", When::OneOf(2, RECEIVE_LIMITS)),
    rule(libc::SYS_connect, "connect"),
    rule(libc::SYS_write, "write"),
    rule(libc::SYS_writev, "writev"),
    rule(libc::SYS_sendto, "sendto"),
    rule(libc::SYS_sendmsg, "sendmsg"),
    rule(libc::SYS_sendmmsg, "sendmmsg"),
    rule(libc::SYS_semtimedop, "semtimedop"),
    rule(libc::SYS_mq_timedsend, "mq_timedsend"),
    rule(libc::SYS_mq_timedreceive, "mq_timedreceive"),
    rule(libc::SYS_io_getevents, "io_getevents"),
    rule(SYS_IO_PGETEVENTS, "io_pgetevents"),
    rule(libc::SYS_recvmmsg, "recvmmsg"),
    rule(SYS_FUTEX_WAITV, "futex_waitv"),
    rule(libc::SYS_io_uring_setup, "io_uring_setup"),
];

/// The system's name of one of them.
pub(super) fn name(number: u64) -> Option<&'static str> {
    RULES.iter().find(|rule| rule.number as u64 == number).map(|rule| rule.name)
}

/// A call with a limit of time that only the kernel keeps, by its name.
pub(super) fn unfollowed(entry: &Entry) -> Option<&'static str> {
    let limit = match entry.number as i64 {
        libc::SYS_semtimedop => entry.args[3],
        libc::SYS_mq_timedsend | libc::SYS_mq_timedreceive | libc::SYS_io_getevents | SYS_IO_PGETEVENTS => {
            entry.args[4]
        }
        libc::SYS_recvmmsg => entry.args[4],
        SYS_FUTEX_WAITV => entry.args[3],
        libc::SYS_io_uring_setup => 1,
        _ => 0,
    };
    name(entry.number).filter(|_| limit != 0)
}
