"""Every way Python waits: each says how long it took by the program's own clock, in whole seconds."""
import asyncio, queue, select, signal, socket, struct, subprocess, sys, threading, time


def timed(wait):
    wall, monotonic = time.time(), time.monotonic()
    result = wait()
    print(wait.__name__, round(time.monotonic() - monotonic), round(time.time() - wall), result)


def sleep():
    time.sleep(3600)


def event():
    return threading.Event().wait(600)


def condition():
    condition = threading.Condition()
    with condition:
        return condition.wait(120)


def empty_queue():
    try:
        queue.Queue().get(timeout=60)
    except queue.Empty:
        return "empty"


def timer():
    done = threading.Event()
    threading.Timer(30, done.set).start()
    return done.wait(3600)


def tasks():
    order = []

    async def one(seconds):
        await asyncio.sleep(seconds)
        order.append(seconds)

    async def all():
        await asyncio.gather(*(one(seconds) for seconds in (50, 10, 40, 20, 30)))
        try:
            await asyncio.wait_for(asyncio.sleep(1000), 15)
        except asyncio.TimeoutError:
            order.append("timeout")

    asyncio.run(all())
    return order


def socket_timeout():
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(25)
    try:
        server.accept()
    except TimeoutError:
        return "timeout"


def receive_limit():
    one, other = socket.socketpair()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 45, 0))
    try:
        one.recv(1)
    except BlockingIOError:
        return "again"


def interval():
    times = []
    signal.signal(signal.SIGALRM, lambda *_: times.append(round(time.monotonic() - start)))
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 10, 20)
    while len(times) < 3:
        signal.pause()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return times


def alarm():
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.alarm(7)
    signal.pause()
    return signal.alarm(0)


def selected():
    one, other = socket.socketpair()
    return select.select([one], [], [one], 90)


def polled():
    poll, (one, other) = select.epoll(), socket.socketpair()
    poll.register(one, select.EPOLLIN)
    return poll.poll(80)


def waited_signal():
    return signal.sigtimedwait([signal.SIGUSR1], 75)


def child():
    try:
        subprocess.run(["sleep", "1000"], timeout=60)
    except subprocess.TimeoutExpired:
        return "expired"


def child_sleeps():
    return subprocess.run(["sleep", "500"]).returncode


for wait in (
    sleep, event, condition, empty_queue, timer, tasks, socket_timeout, receive_limit, interval, alarm, selected, polled,
    waited_signal, child, child_sleeps,
):
    timed(wait)
