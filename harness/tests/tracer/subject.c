// Programs that do to a store what is hard to record: `subject NAME`, run in the store's folder. Beside it lies the
// folder `../outside`. Each ends with 0 if it could do what its name says, and with 77 if this system cannot.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(what) do { if (!(what)) { fprintf(stderr, "%d: %s: %s\n", __LINE__, #what, strerror(errno)); exit(1); } } while (0)

extern char **environ;
static char *self;

static int file(const char *name, int flags) {
    int fd = open(name, O_RDWR | O_CREAT | flags, 0644);
    MUST(fd >= 0);
    return fd;
}

static void put(int fd, const char *text) { MUST(write(fd, text, strlen(text)) == (ssize_t)strlen(text)); }

static void end_of(pid_t pid) {
    int status;
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

// Writes of which less is done than asked for, or nothing.
static void partial(void) {
    long page = sysconf(_SC_PAGESIZE);
    char *buffer = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(buffer, 'x', 2 * page);
    munmap(buffer + page, page);
    int fd = file("half", 0);
    MUST(write(fd, buffer + page - 100, 200) == 100);
    struct iovec both[] = {{buffer, 10}, {buffer + page, 10}};
    MUST(writev(fd, both, 2) == 10);
    MUST(write(fd, buffer + page, 10) == -1 && errno == EFAULT);
    MUST(write(99, "x", 1) == -1 && errno == EBADF);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit most = {5000, 5000};
    setrlimit(RLIMIT_FSIZE, &most);
    int limited = file("limited", 0);
    MUST(pwrite(limited, buffer, 100, 4950) == 50);
    MUST(pwrite(limited, buffer, 100, 5000) == -1 && errno == EFBIG);
    MUST(ftruncate(limited, 6000) == -1);
    MUST(rename("nothing", "something") == -1 && mkdir("half", 0755) == -1 && unlink("nothing") == -1);
    MUST(open("half", O_RDWR | O_CREAT | O_EXCL, 0644) == -1 && errno == EEXIST);
    MUST(syscall(SYS_rename, 1, 2) == -1 && errno == EFAULT);
    int empty = open("half", O_RDONLY);
    MUST(write(empty, "x", 1) == -1 && errno == EBADF);
    MUST(write(fd, "x", 0) == 0);
}

static char shared[65536];
static volatile int going = 1;

static void *scribble(void *unused) {
    for (unsigned value = 0; going; value++) memset(shared, value, sizeof shared);
    return unused;
}

// Another thread changes the buffer while it is written.
static void scribbled(void) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, scribble, NULL) == 0);
    int fd = file("scribbled", 0);
    for (int i = 0; i < 60; i++) MUST(pwrite(fd, shared, sizeof shared, (i % 4) * 65536L) == sizeof shared);
    going = 0;
    pthread_join(thread, NULL);
}

static void append(void) {
    int fd = file("append", 0);
    put(fd, "0123456789");
    struct iovec text = {"abc", 3};
    if (pwritev2(fd, &text, 1, 0, RWF_APPEND) != 3) exit(77);
    put(fd, "X");
    int other = file("append", O_APPEND);
    MUST(pwrite(other, "def", 3, 2) == 3);
    put(other, "ghi");
    MUST(fcntl(fd, F_SETFL, O_APPEND) == 0);
    MUST(pwrite(fd, "jkl", 3, 0) == 3);
    MUST(pwritev2(fd, &text, 1, -1, 0) == 3);
}

static void allocate(void) {
    int fd = file("allocated", 0);
    for (int i = 0; i < 16; i++) { memset(shared, 'a' + i, 4096); MUST(write(fd, shared, 4096) == 4096); }
    MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4000, 5000) == 0);
    // Not every file system has the others.
    fallocate(fd, FALLOC_FL_ZERO_RANGE, 20000, 100);
    fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 8192, 4096);
    fallocate(fd, FALLOC_FL_INSERT_RANGE, 4096, 8192);
    MUST(fallocate(fd, 0, 60000, 20000) == 0);
    MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE, 100000, 20000) == 0);
    int clone = file("clone", 0);
    ioctl(clone, FICLONE, fd);
}

static void moves(void) {
    int fd = file("../outside/one", 0);
    put(fd, "from outside");
    MUST(rename("../outside/one", "one") == 0);
    put(fd, ", and on");
    MUST(mkdir("../outside/deep", 0755) == 0 && mkdir("../outside/deep/er", 0755) == 0);
    put(file("../outside/deep/er/two", 0), "two");
    MUST(symlink("er/two", "../outside/deep/link") == 0);
    MUST(rename("../outside/deep", "deep") == 0);
    put(file("deep/er/two", O_APPEND), " more");
    int three = file("../outside/three", 0);
    put(three, "three");
    MUST(link("../outside/three", "three") == 0);
    put(three, " linked");
    int four = file("four", 0);
    put(four, "four");
    MUST(rename("four", "../outside/four") == 0);
    put(four, " is elsewhere");
    MUST(rename("deep/er", "er") == 0);
    MUST(rename("er", "../outside/er") == 0);
    put(file("../outside/er/two", O_APPEND), " gone");
    int a = file("a", 0), b = file("b", 0), c = file("../outside/c", 0);
    put(a, "a"), put(b, "b"), put(c, "c");
    MUST(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE) == 0);
    MUST(renameat2(AT_FDCWD, "../outside/c", AT_FDCWD, "b", RENAME_EXCHANGE) == 0);
    put(a, "A"), put(b, "B"), put(c, "C");
    MUST(rename("b", "one") == 0);
    MUST(renameat2(AT_FDCWD, "one", AT_FDCWD, "three", RENAME_NOREPLACE) == -1);
    MUST(link("one", "again") == 0 && rename("one", "again") == 0);
}

static void nameless(void) {
    int fd = open(".", O_TMPFILE | O_RDWR, 0644);
    if (fd < 0) exit(77);
    put(fd, "before ");
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    MUST(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0);
    put(fd, "after");
    int other = open(".", O_TMPFILE | O_WRONLY, 0600);
    put(other, "never named");
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
    MUST(truncate(path, 9) == 0);
}

static void names(void) {
    MUST(mkdir("folder/", 0755) == 0);
    int folder = open("folder", O_DIRECTORY | O_PATH);
    MUST(mkdirat(folder, "sub", 0755) == 0 && chdir("folder/sub") == 0);
    put(file("../x", 0), "x");
    int there = openat(folder, "y", O_CREAT | O_WRONLY, 0644);
    put(dup(there), "one ");
    put(dup2(there, 50), "two ");
    if (fork() == 0) { put(there, "three "); _exit(0); }
    MUST(wait(NULL) > 0);
    put(there, "four");
    MUST(symlinkat("../y", folder, "sub/link") == 0);
    put(open("link", O_WRONLY | O_TRUNC), "through a link");
    MUST(symlink("../made", "dangling") == 0);
    put(open("dangling", O_WRONLY | O_CREAT, 0644), "made through a link");
    MUST(renameat(folder, "sub", folder, "renamed") == 0);
    put(file("in-renamed", 0), "z");
    MUST(linkat(folder, "x", AT_FDCWD, "hard", 0) == 0);
    put(file("hard", O_TRUNC), "through a hard link");
    MUST(unlinkat(folder, "x", 0) == 0);
    MUST(chdir("../..") == 0 && mkdir("gone", 0755) == 0 && rmdir("gone") == 0);
    MUST(mkdir("gone", 0755) == 0 && unlinkat(AT_FDCWD, "gone/", AT_REMOVEDIR) == 0);
    MUST(creat("created", 0644) >= 0 && truncate("created", 100) == 0);
    struct open_how how = {.flags = O_CREAT | O_WRONLY, .mode = 0644};
    int two = syscall(SYS_openat2, AT_FDCWD, "openat2", &how, sizeof how);
    if (two >= 0) put(two, "openat2");
    MUST(mknod("node", S_IFREG | 0644, 0) == 0 && mkfifo("fifo", 0644) == 0);
    struct sockaddr_un address = {AF_UNIX, "socket"};
    MUST(bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address) == 0);
    MUST(rename("fifo", "fifo2") == 0 && unlink("fifo2") == 0);
    char absolute[4096], path[4200];
    MUST(getcwd(absolute, sizeof absolute));
    snprintf(path, sizeof path, "%s/absolute", absolute);
    put(file(path, 0), "absolute");
}

static void copies(void) {
    int from = file("../outside/source", 0), into = file("into", 0), ends[2];
    for (int i = 0; i < 1000; i++) put(from, "some text to be copied ");
    MUST(lseek(from, 0, SEEK_SET) == 0);
    MUST(sendfile(into, from, NULL, 5000) == 5000);
    loff_t in = 100, out = 50;
    MUST(copy_file_range(from, &in, into, &out, 3000, 0) > 0 || errno == EXDEV || errno == EINVAL);
    MUST(copy_file_range(from, NULL, into, NULL, 3000, 0) > 0 || errno == EXDEV || errno == EINVAL);
    MUST(pipe(ends) == 0);
    put(ends[1], "through a pipe");
    MUST(splice(ends[0], NULL, into, NULL, 14, 0) == 14);
    // The pipe is filled while the splice waits.
    if (fork() == 0) { usleep(20000); put(into, "meanwhile"); put(ends[1], "late"); _exit(0); }
    out = 9000;
    MUST(splice(ends[0], NULL, into, &out, 4, 0) == 4);
    MUST(wait(NULL) > 0);
}

static void mapped(void) {
    int fd = file("mapped", 0);
    MUST(ftruncate(fd, 4096) == 0);
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED);
    map[0] = 'x';
}

static void upgraded(void) {
    int fd = file("upgraded", 0);
    MUST(ftruncate(fd, 4096) == 0);
    char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED && mprotect(map, 4096, PROT_READ | PROT_WRITE) == 0);
    map[0] = 'x';
}

static void read_mapped(void) {
    int fd = file("read", 0);
    MUST(ftruncate(fd, 4096) == 0);
    char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    char *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    MUST(map != MAP_FAILED && own != MAP_FAILED);
    own[0] = 'p';
    void *other = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(mprotect(other, 4096, PROT_READ | PROT_WRITE) == 0);
    MUST(pwrite(fd, "seen", 4, 0) == 4 && map[0] == 's');
}

static void left_out(void) {
    put(file("db", 0), "database");
    int fd = file("db-shm", 0);
    MUST(ftruncate(fd, 4096) == 0);
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED);
    map[0] = 'x';
    MUST(rename("db-shm", "kept") == 0);
    put(file("x-shm", 0), "x"), put(file("y", 0), "y");
    MUST(rename("y", "y-shm") == 0 && unlink("x-shm") == 0);
}

static void uring(void) { char params[128] = {0}; syscall(SYS_io_uring_setup, 4, params); }
static void aio(void) { syscall(SYS_io_submit, 0, 0, NULL); }

static void other_arch(void) {
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    strcpy(low, "by-int80");
    long result;
    // creat
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(8L), "b"(low), "c"(0644L) : "memory", "r8", "r9", "r10", "r11");
}

static void x32(void) { syscall(0x40000000 + SYS_getpid); syscall(-1); }

static void undumpable(void) {
    MUST(prctl(PR_SET_DUMPABLE, 0) == 0);
    put(file("undumpable", 0), "x");
}

static void writes_and_ends(void) { put(file("written", O_APPEND), "written by another program\n"); }

static void spawns(void) {
    char *words[] = {self, "writes_and_ends", NULL};
    pid_t pid;
    MUST(posix_spawn(&pid, self, NULL, NULL, words, environ) == 0);
    end_of(pid);
    if ((pid = vfork()) == 0) { execv(self, words); _exit(1); }
    end_of(pid);
    MUST(system("echo by a shell > by-shell; echo more >> by-shell") == 0);
}

static void *executes(void *unused) {
    put(file("before", 0), "before");
    char *words[] = {self, "writes_and_ends", NULL};
    execv(self, words);
    return unused;
}

static void *writes_on(void *unused) {
    int fd = file("meanwhile", 0);
    for (;;) put(fd, "meanwhile");
    return unused;
}

// Another thread than the first becomes the program, while the others write.
static void thread_executes(void) {
    pthread_t thread;
    for (int i = 0; i < 4; i++) pthread_create(&thread, NULL, writes_on, NULL);
    usleep(5000);
    pthread_create(&thread, NULL, executes, NULL);
    int fd = file("first", 0);
    for (;;) put(fd, "first");
}

static void stops(void) {
    pid_t pid = fork();
    if (pid == 0) {
        int fd = file("stopped", 0);
        for (int i = 0; i < 20; i++) { put(fd, "x"); raise(SIGSTOP); }
        _exit(0);
    }
    int status;
    for (int i = 0; i < 20; i++) {
        MUST(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
        usleep(1000);
        char state = 0;
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *stat = fopen(path, "r");
        MUST(stat && fscanf(stat, "%*d %*s %c", &state) == 1 && (state == 'T' || state == 't'));
        fclose(stat);
        MUST(kill(pid, SIGCONT) == 0);
    }
    end_of(pid);
}

static volatile int alarms;
static void on_alarm(int unused) { (void)unused; alarms++; }

static void alarmed(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    int fd = file("alarmed", 0);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 2000; i++) put(fd, "0123456789");
    MUST(alarms > 10);
}

static void outlived(void) {
    if (fork() == 0) {
        setsid();
        usleep(50000);
        put(file("late", 0), "written after the first process ended");
        for (;;) pause();
    }
    put(file("early", 0), "early");
}

static void filtered(void) {
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_mkdir},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {4, code};
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    MUST(mkdir("refused", 0755) == -1 && errno == EPERM);
    put(file("allowed", 0), "allowed");
}

static void unlinked(void) {
    int fd = file("unlinked", 0);
    put(fd, "while it had a name");
    MUST(unlink("unlinked") == 0);
    put(fd, ", and after");
    for (int i = 0; i < 200; i++) {
        char inside[32], outside[32];
        snprintf(inside, sizeof inside, "f%d", i % 7);
        snprintf(outside, sizeof outside, "../outside/f%d", i);
        int one = file(inside, 0);
        if (i % 2) put(one, inside);
        close(one);
        MUST(unlink(inside) == 0);
        int two = file(outside, 0);
        put(two, "outside");
        close(two);
        if (i % 3 == 0) MUST(mkdir(inside, 0755) == 0 && rmdir(inside) == 0);
        if (i % 5 == 0) MUST(symlink("x", inside) == 0 && unlink(inside) == 0);
    }
    put(file("last", 0), "last");
}

static void *appends(void *fd) {
    for (int i = 0; i < 150; i++) put((int)(long)fd, i % 2 ? "abcdefg\n" : "0123456789\n");
    return NULL;
}

static void *overwrites(void *start) {
    int fd = file("one-offset", 0);
    char text[4096];
    for (int i = 0; i < 300; i++) {
        memset(text, (int)(long)start + i % 20, sizeof text);
        MUST(pwrite(fd, text, 100 + i % 4000, 0) > 0);
    }
    return NULL;
}

static void races(void) {
    pthread_t threads[6];
    long fd = file("appended", O_APPEND), position = file("positioned", 0);
    pthread_create(&threads[0], NULL, appends, (void *)fd);
    pthread_create(&threads[1], NULL, appends, (void *)(long)file("appended", O_APPEND));
    pthread_create(&threads[2], NULL, appends, (void *)position);
    pthread_create(&threads[3], NULL, appends, (void *)position);
    pthread_create(&threads[4], NULL, overwrites, (void *)'A');
    pthread_create(&threads[5], NULL, overwrites, (void *)'a');
    pid_t pid = fork();
    if (pid == 0) {
        appends((void *)fd), appends((void *)position), overwrites((void *)'1');
        _exit(0);
    }
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    end_of(pid);
}

static void *works(void *number) {
    char name[32], other[32];
    snprintf(name, sizeof name, "t%ld", (long)number);
    snprintf(other, sizeof other, "r%ld", (long)number % 5);
    for (int i = 0; i < 10; i++) {
        int fd = file(name, O_TRUNC);
        put(fd, name), put(fd, other);
        MUST(fdatasync(fd) == 0 && close(fd) == 0);
        if (i % 3 == 2) MUST(rename(name, other) == 0);
    }
    return NULL;
}

static void threads(void) {
    pthread_t threads[32];
    for (long i = 0; i < 32; i++) MUST(pthread_create(&threads[i], NULL, works, (void *)i) == 0);
    for (int i = 0; i < 32; i++) pthread_join(threads[i], NULL);
}

static void forks(void) {
    for (long i = 0; i < 50; i++) {
        if (fork() == 0) {
            works((void *)i);
            if (i % 2 && fork() == 0) { works((void *)(100 + i)); _exit(0); }
            while (wait(NULL) > 0) {}
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {}
}

static void *large(void *fd) {
    static char much[8 << 20];
    for (;;) MUST(pwrite((int)(long)fd, much, sizeof much, 0) > 0);
    return fd;
}

// The process ends while its threads are inside calls.
static void ends_inside(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, large, (void *)(long)file("large", 0));
    for (int i = 0; i < 3; i++) pthread_create(&thread, NULL, writes_on, NULL);
    usleep(20000);
}

static void killed_inside(void) {
    ends_inside();
    kill(getpid(), SIGKILL);
}

static void hangs(void) {
    put(file("hung", 0), "hung");
    signal(SIGTERM, SIG_IGN);
    fork(), fork();
    for (;;) pause();
}

static void sends(void) {
    int fd = file("state", 0), pair[2], inner[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(inner) == 0);
    put(pair[0], "to itself"), put(inner[1], "to itself");
    put(fd, "claimed");
    MUST(fsync(fd) == 0);
    put(1, "first\n");
    MUST(dup2(1, 77) == 77);
    put(fd, "sent");
    struct iovec two[] = {{"sec", 3}, {"ond\n", 4}};
    MUST(writev(77, two, 2) == 7);
    put(2, "error\n");
}

// Sends in all ways to the port that a file outside names.
static void connects(void) {
    FILE *text = fopen("../outside/port", "r");
    int port, to = socket(AF_INET, SOCK_STREAM, 0), source = file("source", 0), ends[2];
    MUST(text && fscanf(text, "%d", &port) == 1 && pipe(ends) == 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    MUST(connect(to, (struct sockaddr *)&address, sizeof address) == 0);
    put(source, "0123456789"), put(ends[1], "piped");
    put(to, "write");
    MUST(send(to, "send", 4, 0) == 4);
    struct iovec two[] = {{"me", 2}, {"ssage", 5}};
    struct mmsghdr both[2] = {{.msg_hdr = {.msg_iov = two, .msg_iovlen = 2}}, {.msg_hdr = {.msg_iov = two, .msg_iovlen = 1}}};
    MUST(sendmsg(to, &both[0].msg_hdr, 0) == 7 && sendmmsg(to, both, 2, 0) == 2);
    off_t at = 3;
    MUST(sendfile(to, source, &at, 4) == 4);
    MUST(splice(ends[0], NULL, to, NULL, 5, 0) == 5);
}

static void syncs(void) {
    int fd = file("synced", O_DSYNC), full = file("full", O_SYNC), plain = file("plain", 0);
    put(fd, "data"), put(full, "full"), put(plain, "none");
    struct iovec text = {"abc", 3};
    MUST(pwritev2(plain, &text, 1, 0, RWF_DSYNC) == 3 && pwritev2(plain, &text, 1, 0, RWF_SYNC) == 3);
    MUST(fsync(plain) == 0 && fdatasync(plain) == 0 && syncfs(plain) == 0);
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    MUST(fsync(folder) == 0);
    MUST(sync_file_range(plain, 0, 0, SYNC_FILE_RANGE_WRITE) == 0);
    MUST(fsync(99) == -1);
}

static void status(void) { put(file("status", 0), "7"); exit(7); }

// A small program of file calls, one a line, from a file outside.
static void program(void) {
    FILE *lines = fopen("../outside/program", "r");
    char call[32], a[64], b[64];
    long x, y;
    int fds[4] = {-1, -1, -1, -1};
    MUST(lines);
    while (fscanf(lines, "%31s %63s %63s %ld %ld", call, a, b, &x, &y) == 5) {
        int slot = x & 3, fd = fds[slot];
        memset(shared, 'a' + (int)(y % 26), sizeof shared);
#define IS(name) (strcmp(call, name) == 0)
        // Each may fail; that is recorded, too.
        if (IS("open")) close(fd), fds[slot] = open(a, O_RDWR | (int)y, 0644);
        else if (IS("write")) write(fd, shared, y);
        else if (IS("pwrite")) pwrite(fd, shared, y, (y * 37) % 9000);
        else if (IS("writev")) { struct iovec v[] = {{shared, y}, {shared, 10}}; writev(fd, v, 2); }
        else if (IS("seek")) lseek(fd, y, SEEK_SET);
        else if (IS("ftruncate")) ftruncate(fd, y);
        else if (IS("truncate")) truncate(a, y);
        else if (IS("fallocate")) fallocate(fd, 0, y, 1000);
        else if (IS("punch")) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, y, 3000);
        else if (IS("rename")) rename(a, b);
        else if (IS("exchange")) renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
        else if (IS("link")) link(a, b);
        else if (IS("symlink")) symlink(a, b);
        else if (IS("unlink")) unlink(a);
        else if (IS("mkdir")) mkdir(a, 0755);
        else if (IS("rmdir")) rmdir(a);
        else if (IS("fsync")) fsync(fd);
        else if (IS("fdatasync")) fdatasync(fd);
        else if (IS("dup")) dup2(fd, fds[(slot + 1) & 3]);
        else if (IS("copy")) sendfile(fd, fds[(slot + 1) & 3], NULL, y);
        else if (IS("child")) { if (fork() == 0) { write(fd, "child", 5); _exit(0); } wait(NULL); }
        else MUST(!"a known call");
    }
}

// Many small writes: how long they take.
static void many(void) {
    int fd = file("many", 0);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 20000; i++) MUST(pwrite(fd, "0123456789abcdef", 16, i % 1000 * 16) == 16);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%ld\n", (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec);
}

// Closes what was cut to nothing, once at once and once only when a copy of the descriptor is closed, too.
static void closes(void) {
    put(file("state", 0), "old");
    int fd = file("state", O_TRUNC);
    put(fd, "new");
    int copy = dup(fd);
    close(fd);
    put(file("other", 0), "1");
    close(copy);
    for (fd = 3; fd < 10; fd++) close(fd);
    put(file("another", 0), "2");
}

// Answers each line that it reads, after it wrote it down.
static void replies(void) {
    char line[100];
    int fd = file("lines", O_APPEND);
    while (fgets(line, sizeof line, stdin)) put(fd, line), put(1, "ok\n");
}

// Becomes another program, for which one call is refused with an error.
static int denying(int call, int error, char **words) {
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {4, code};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    execv(words[0], words);
    return 1;
}

int main(int count, char **words) {
    if (count > 4 && strcmp(words[1], "denying") == 0) return denying(atoi(words[2]), atoi(words[3]), words + 4);
#define DO(name) {#name, name}
    struct { const char *name; void (*does)(void); } all[] = {
        DO(partial), DO(scribbled), DO(append), DO(allocate), DO(moves), DO(nameless), DO(names), DO(copies),
        DO(mapped), DO(upgraded), DO(read_mapped), DO(left_out), DO(uring), DO(aio), DO(other_arch), DO(x32),
        DO(undumpable), DO(writes_and_ends), DO(spawns), DO(thread_executes), DO(stops), DO(alarmed), DO(outlived),
        DO(filtered), DO(unlinked), DO(races), DO(threads), DO(forks), DO(ends_inside), DO(killed_inside), DO(hangs),
        DO(sends), DO(connects), DO(syncs), DO(status), DO(closes), DO(replies), DO(program), DO(many),
    };
    self = realpath(words[0], NULL);
    for (unsigned i = 0; count == 2 && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, words[1]) == 0) { all[i].does(); return 0; }
    fprintf(stderr, "no such program\n");
    return 2;
}
