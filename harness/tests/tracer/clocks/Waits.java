// Ways Java waits, in their order, each with the seconds that its own clock says have passed.
import java.util.concurrent.*;

class Waits {
    static final long START = System.nanoTime(), WALL = System.currentTimeMillis();

    static synchronized void said(String name) {
        System.out.println(name + " " + Math.round((System.nanoTime() - START) / 1e9) + " "
            + Math.round((System.currentTimeMillis() - WALL) / 1e3));
    }

    public static void main(String[] words) throws Exception {
        Thread.sleep(3_600_000);
        said("sleep");
        var timers = Executors.newScheduledThreadPool(2);
        for (int seconds : new int[] {40, 10, 30, 20}) {
            timers.schedule(() -> said("scheduled " + seconds), seconds, TimeUnit.SECONDS);
        }
        timers.shutdown();
        timers.awaitTermination(1, TimeUnit.HOURS);
        var lock = new Object();
        synchronized (lock) {
            lock.wait(300_000);
        }
        said("wait");
    }
}
