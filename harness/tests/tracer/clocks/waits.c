// Programs that wait, by the name of the rule that they check: `waits NAME`. Each ends with 0 if the rule holds, and says
// on its standard error which line it found to be otherwise.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(what) do { if (!(what)) { fprintf(stderr, "%d: %s: %s\n", __LINE__, #what, strerror(errno)); _exit(1); } } while (0)

static int64_t shown(clockid_t clock) {
    struct timespec now;
    MUST(clock_gettime(clock, &now) == 0);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int64_t now(void) { return shown(CLOCK_MONOTONIC); }

// Whether so many seconds have passed, but for a little.
static int passed(int64_t start, double seconds) {
    double over = (now() - start) / 1e9 - seconds;
    return over >= 0 && over < 0.1;
}

static void nothing(int signal) { (void)signal; }

static void on(int signal, int flags) {
    struct sigaction action = {.sa_handler = nothing, .sa_flags = flags};
    MUST(sigaction(signal, &action, NULL) == 0);
}

// Makes a call, and checks that it leaves every register but those three that a call may change.
static long call(long number, long a, long b, long c, long d, long e, long f) {
    long in[6] = {a, b, c, d, e, f}, out[6], result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    register long r12 __asm__("r12") = 0x12121212;
    register long r13 __asm__("r13") = 0x13131313;
    __asm__ volatile("syscall"
                     : "=a"(result), "+D"(a), "+S"(b), "+d"(c), "+r"(r10), "+r"(r8), "+r"(r9), "+r"(r12), "+r"(r13)
                     : "0"(number)
                     : "rcx", "r11", "memory");
    out[0] = a, out[1] = b, out[2] = c, out[3] = r10, out[4] = r8, out[5] = r9;
    MUST(memcmp(in, out, sizeof in) == 0);
    MUST(r12 == 0x12121212 && r13 == 0x13131313);
    return result;
}

// Each timed call lasts as long as it was told, returns what it returns when its time is over, and keeps the registers.
static void registers(void) {
    int ends[2], word = 7, epoll = epoll_create1(0);
    MUST(pipe(ends) == 0 && epoll >= 0);
    struct epoll_event event = {.events = EPOLLIN};
    MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    sigset_t none, some;
    sigemptyset(&none), sigemptyset(&some), sigaddset(&some, SIGUSR1);
    fd_set set;
    struct timespec ten = {10, 0}, until;
    struct timeval tens = {10, 0};
    int64_t start = now();
#define LASTS(expected, ...) do { \
        ten = (struct timespec){10, 0}, tens = (struct timeval){10, 0}, start = now(); \
        long result = call(__VA_ARGS__); \
        if (result != (expected)) fprintf(stderr, "%d: %ld\n", __LINE__, result); \
        MUST(result == (expected) && passed(start, 10)); } while (0)
#define UNTIL(clock) (until.tv_sec = shown(clock) / 1000000000 + 10, until.tv_nsec = shown(clock) % 1000000000, (long)&until)
    LASTS(0, SYS_nanosleep, (long)&ten, 0, 3, 4, 5, 6);
    LASTS(0, SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&ten, 0, 5, 6);
    LASTS(0, SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, UNTIL(CLOCK_MONOTONIC), 0, 5, 6);
    LASTS(0, SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, UNTIL(CLOCK_REALTIME), 0, 5, 6);
    LASTS(0, SYS_poll, (long)&one, 1, 10000, 4, 5, 6);
    LASTS(0, SYS_ppoll, (long)&one, 1, (long)&ten, (long)&none, 8, 6);
    MUST(ten.tv_sec == 0 && ten.tv_nsec == 0);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    LASTS(0, SYS_select, ends[0] + 1, (long)&set, 0, 0, (long)&tens, 6);
    MUST(!FD_ISSET(ends[0], &set) && tens.tv_sec == 0);
    FD_SET(ends[0], &set);
    LASTS(0, SYS_pselect6, ends[0] + 1, (long)&set, 0, 0, (long)&ten, 0);
    MUST(!FD_ISSET(ends[0], &set));
    LASTS(0, SYS_epoll_wait, epoll, (long)&event, 1, 10000, 5, 6);
    LASTS(0, SYS_epoll_pwait, epoll, (long)&event, 1, 10000, (long)&none, 8);
    LASTS(0, SYS_epoll_pwait2, epoll, (long)&event, 1, (long)&ten, (long)&none, 8);
    LASTS(-ETIMEDOUT, SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 7, (long)&ten, 5, 6);
    LASTS(-ETIMEDOUT, SYS_futex, (long)&word, FUTEX_WAIT_BITSET, 7, UNTIL(CLOCK_MONOTONIC), 0, ~0u);
    LASTS(-ETIMEDOUT, SYS_futex, (long)&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 7, UNTIL(CLOCK_REALTIME), 0, ~0u);
    MUST(sigprocmask(SIG_BLOCK, &some, NULL) == 0);
    LASTS(-EAGAIN, SYS_rt_sigtimedwait, (long)&some, 0, (long)&ten, 8, 5, 6);
    MUST(call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&until, 3, 4, 5, 6) == 0);
    MUST(call(SYS_clock_gettime, CLOCK_MONOTONIC, 8, 3, 4, 5, 6) == -EFAULT);
    MUST(call(SYS_nanosleep, 8, 0, 3, 4, 5, 6) == -EFAULT);
    ten.tv_nsec = 1000000000;
    MUST(call(SYS_nanosleep, (long)&ten, 0, 3, 4, 5, 6) == -EINVAL);
    MUST(call(SYS_futex, (long)&word, FUTEX_WAIT, 8, (long)&tens, 5, 6) == -EAGAIN);
    MUST(call(SYS_poll, (long)&one, 1, 0, 4, 5, 6) == 0);
}

static void *sends_later(void *fd) {
    usleep(5000000);
    MUST(write(*(int *)fd, "x", 1) == 1);
    return NULL;
}

// Something happens in the very moment in which a wait for it is over: it is told or not yet, but never lost.
static void race(void) {
    int ends[2], told = 0;
    MUST(pipe(ends) == 0);
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    for (int n = 0; n < 1000; n++) {
        pthread_t thread;
        char byte;
        MUST(pthread_create(&thread, NULL, sends_later, &ends[1]) == 0);
        int found = poll(&one, 1, 5000);
        told += found;
        MUST(found == 0 || found == 1);
        MUST(pthread_join(thread, NULL) == 0);
        MUST(poll(&one, 1, 0) == 1 && read(ends[0], &byte, 1) == 1);
        MUST(poll(&one, 1, 0) == 0);
    }
    fprintf(stderr, "%d told\n", told);
}

static void *works(void *fd) {
    int file = open("work", O_CREAT | O_WRONLY | O_APPEND, 0600);
    volatile unsigned sum = 0;
    for (unsigned n = 0; n < 300000; n++) sum += n;
    MUST(write(file, "work", 4) == 4 && fsync(file) == 0 && close(file) == 0);
    MUST(write(*(int *)fd, "x", 1) == 1);
    return NULL;
}

// Real work of threads and processes is never taken for a wait that is over.
static void work(void) {
    int ends[2];
    char byte;
    MUST(pipe(ends) == 0);
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    for (int n = 0; n < 200; n++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, works, &ends[1]) == 0);
        MUST(poll(&one, 1, 50) == 1 && read(ends[0], &byte, 1) == 1);
        MUST(pthread_join(thread, NULL) == 0);
        pid_t child = fork();
        if (child == 0) works(&ends[1]), _exit(0);
        MUST(poll(&one, 1, 50) == 1 && read(ends[0], &byte, 1) == 1);
        MUST(waitpid(child, NULL, 0) == child);
        child = vfork();
        if (child == 0) execl("/bin/true", "true", NULL), _exit(1);
        MUST(poll(&one, 1, 0) == 0 && waitpid(child, NULL, 0) == child);
    }
}

// A handler ends each wait with EINTR, whether it asked to go on or not, and a sleep says what was left.
static void interrupted(void) {
    int word = 7;
    for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
        on(SIGALRM, flags);
        struct timespec ten = {10, 0}, left;
        int64_t start = now();
        alarm(4);
        MUST(nanosleep(&ten, &left) == -1 && errno == EINTR && passed(start, 4));
        MUST(left.tv_sec == 6 || (left.tv_sec == 5 && left.tv_nsec > 900000000));
        // Whoever goes on with what was left sleeps as long as it meant to.
        MUST(nanosleep(&left, NULL) == 0 && passed(start, 10));
        alarm(4), start = now();
        MUST(poll(NULL, 0, 10000) == -1 && errno == EINTR && passed(start, 4));
        alarm(4), start = now();
        MUST(select(0, NULL, NULL, NULL, &(struct timeval){10, 0}) == -1 && errno == EINTR && passed(start, 4));
        alarm(4), start = now();
        MUST(syscall(SYS_futex, &word, FUTEX_WAIT, 7, &ten) == -1 && errno == EINTR && passed(start, 4));
        int epoll = epoll_create1(0);
        struct epoll_event event;
        alarm(4), start = now();
        MUST(epoll_wait(epoll, &event, 1, 10000) == -1 && errno == EINTR && passed(start, 4));
        // The same call, made once more from the same place, lasts its whole time again.
        for (int n = 0; n < 2; n++) {
            start = now();
            if (n == 0) alarm(4);
            MUST(nanosleep(&ten, NULL) == (n == 0 ? -1 : 0) && passed(start, n == 0 ? 4 : 10));
        }
    }
}

// A signal that is ignored, or stops the program for a while, does not change how long it waits.
static void ignored(void) {
    MUST(signal(SIGALRM, SIG_IGN) != SIG_ERR);
    int64_t start = now();
    alarm(4);
    MUST(sleep(10) == 0 && passed(start, 10));
    pid_t me = getpid(), child = fork();
    if (child == 0) {
        sleep(3), kill(me, SIGSTOP), sleep(3), kill(me, SIGCONT);
        _exit(0);
    }
    start = now();
    MUST(poll(NULL, 0, 10000) == 0 && passed(start, 10));
    MUST(waitpid(child, NULL, 0) == child);
}

// Timers by descriptor and by signal expire when they should, in their order.
static void timers(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) == 0);
    struct itimerspec every = {.it_value = {20, 0}, .it_interval = {10, 0}}, before;
    int64_t start = now();
    uint64_t times;
    MUST(timerfd_settime(timer, 0, &every, NULL) == 0);
    MUST(epoll_wait(epoll, &event, 1, 5000) == 0 && passed(start, 5));
    MUST(timerfd_gettime(timer, &before) == 0 && before.it_value.tv_sec == 14 && before.it_interval.tv_sec == 10);
    for (int n = 2; n < 6; n++) {
        MUST(epoll_wait(epoll, &event, 1, -1) == 1 && read(timer, &times, 8) == 8 && times == 1 && passed(start, n * 10));
    }
    MUST(timerfd_settime(timer, 0, &(struct itimerspec){0}, NULL) == 0);
    timer_t made;
    on(SIGUSR1, 0);
    struct sigevent tells = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    MUST(timer_create(CLOCK_REALTIME, &tells, &made) == 0);
    struct itimerspec once = {.it_value = {shown(CLOCK_REALTIME) / 1000000000 + 30, 0}};
    start = now();
    MUST(timer_settime(made, TIMER_ABSTIME, &once, NULL) == 0);
    MUST(pause() == -1 && now() - start <= 30000000000 && now() - start > 28000000000 && timer_delete(made) == 0);
    MUST(timer_settime(made, 0, &once, NULL) == -1);
}

// Whoever waits by looking at the clock all the time comes to an end too.
static void spins(void) {
    int64_t start = now();
    while (now() - start < 60000000000) {}
    MUST(passed(start, 60));
}

static void *again(void *words) {
    execv("/proc/self/exe", words);
    return NULL;
}

// A thread that becomes another program takes the others' waits with it.
static void executes(void) {
    char *words[] = {"waits", "sleeps", NULL};
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, again, words) == 0);
    sleep(100000);
}

static void *sleeps_long(void *unused) {
    (void)unused;
    sleep(100000);
    return NULL;
}

// A thread that ends, or a process that is killed, in a wait holds nobody up.
static void ends(void) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, sleeps_long, NULL) == 0);
    pid_t child = fork();
    if (child == 0) sleep(100000), _exit(0);
    int64_t start = now();
    sleep(10);
    MUST(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    MUST(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
    sleep(10);
    MUST(passed(start, 20));
}

static void sleeps(void) {
    int64_t start = now();
    MUST(sleep(3600) == 0 && passed(start, 3600));
}

static void thousand(void) {
    int64_t start = now();
    for (int n = 0; n < 1000; n++) sleep(1);
    MUST(passed(start, 1000));
}

// Whoever works is not passed by the time that another sleeps.
static void unhurried(void) {
    int ends[2];
    char bytes[20];
    MUST(pipe(ends) == 0);
    int64_t start = now();
    for (int n = 0; n < 20; n++) works(&ends[1]);
    MUST(read(ends[0], bytes, 20) == 20 && passed(start, 0));
}

static void says(void) {
    printf("%ld %ld\n", (long)time(NULL), (long)(shown(CLOCK_MONOTONIC) / 1000000000));
    fflush(stdout);
}

// Says the time, waits for a line, and says it again.
static void asked(void) {
    says();
    MUST(getchar() == '\n');
    says();
}

static void forever(void) {
    says();
    for (;;) sleep(60);
}

static void unfollowed(void) {
    struct timespec limit = {0, 1000};
    syscall(SYS_semtimedop, -1, NULL, 0, &limit);
}

int main(int count, char **words) {
    struct { const char *name; void (*run)(void); } all[] = {
        {"registers", registers}, {"race", race}, {"work", work}, {"interrupted", interrupted}, {"ignored", ignored},
        {"timers", timers}, {"spins", spins}, {"executes", executes}, {"ends", ends}, {"sleeps", sleeps},
        {"thousand", thousand}, {"unhurried", unhurried}, {"says", says}, {"asked", asked}, {"forever", forever}, {"unfollowed", unfollowed},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        if (count == 2 && strcmp(all[n].name, words[1]) == 0) return all[n].run(), 0;
    }
    return 2;
}
