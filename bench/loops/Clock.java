// Times each of the loops, once the virtual machine has compiled it: the quickest of many calls, which other programs on the computer disturb least.
import java.util.Arrays;
import java.util.Random;
import java.util.function.DoubleSupplier;

final class Clock {
    static final int TIMES = 40;
    static final long WARM = 400_000_000L, LONG = 1_000_000L;
    static final Random RANDOM = new Random(1);
    static double sink;

    static double[] doubles(int count) {
        return RANDOM.doubles(count).toArray();
    }

    static float[] floats(int count) {
        float[] all = new float[count];
        for (int i = 0; i < count; i++) {
            all[i] = RANDOM.nextFloat();
        }
        return all;
    }

    static int[] ints(int count, int below) {
        return RANDOM.ints(count, 0, below).toArray();
    }

    static long[] longs(int count) {
        return RANDOM.longs(count, 0, 1000).toArray();
    }

    /// A matrix that can be eliminated again and again.
    static double[][] matrix(int size) {
        double[][] all = new double[size][];
        for (int i = 0; i < size; i++) {
            all[i] = doubles(size);
            all[i][i] += size;
        }
        return all;
    }

    static int[][] table(int size) {
        int[][] all = new int[size][];
        Arrays.setAll(all, i -> ints(size, 1000));
        return all;
    }

    /// Says how long a loop takes, and the parameters of its model.
    static void time(String name, String parameters, DoubleSupplier loop) {
        long end = System.nanoTime() + WARM;
        while (System.nanoTime() < end) {
            sink += loop.getAsDouble();
        }
        long began = System.nanoTime();
        sink += loop.getAsDouble();
        long calls = Math.max(1, LONG / Math.max(System.nanoTime() - began, 1));
        double least = Double.MAX_VALUE;
        for (int i = 0; i < TIMES; i++) {
            began = System.nanoTime();
            for (long call = 0; call < calls; call++) {
                sink += loop.getAsDouble();
            }
            least = Math.min(least, (System.nanoTime() - began) * 1e-9 / calls);
        }
        System.out.println(name + " " + least + " " + parameters);
    }

    public static void main(String[] arguments) {
        double[] a = doubles(1000), b = doubles(1000), few = doubles(100);
        double[][] one = matrix(100), other = matrix(100), result = matrix(100), grid = matrix(100), system = matrix(100);
        int[] i1 = ints(1000, 1000), i2 = ints(1000, 1000), counts = new int[256], whole = new int[1000], sorted = ints(1024, 1000);
        Arrays.sort(sorted);
        int[] word = ints(200, 4), second = ints(200, 4), weights = ints(100, 100), values = ints(100, 100), best = new int[1000];
        int[][] distances = table(100), lengths = table(200);
        long[] l1 = longs(1000), l2 = longs(1000);
        float[] f1 = floats(1000), f2 = floats(1000);
        time("dot", "a_length=1000", () -> Loops.dot(a, b));
        time("saxpy", "a_length=1000", () -> Loops.saxpy(a, b));
        time("stencil", "a_length=1000", () -> Loops.stencil(a, b));
        time("matmul", "a_length=100", () -> Loops.matmul(one, other, result));
        time("prefix", "a_length=1000", () -> Loops.prefix(l1));
        time("hash", "a_length=1000", () -> Loops.hash(i1));
        time("horner", "a_length=1000", () -> Loops.horner(a, 0.99));
        time("histogram", "a_length=1000", () -> Loops.histogram(i1, counts));
        time("largest", "a_length=1000", () -> Loops.largest(a));
        time("orbit", "n=1000", () -> Loops.orbit(1000, -0.1, 0.2));
        time("forces", "x_length=100", () -> Loops.forces(few, b));
        time("floyd", "d_length=100", () -> Loops.floyd(distances));
        time("bubble", "a_length=1000", () -> Loops.bubble(i2.clone()));
        time("power", "n=1000", () -> Loops.power(1000, 12345));
        time("integral", "n=1000", () -> Loops.integral(1000));
        time("waves", "n=1000", () -> Loops.waves(1000));
        time("quantise", "a_length=1000", () -> Loops.quantise(a, whole));
        time("relax", "a_length=100", () -> Loops.relax(grid));
        time("eliminate", "a_length=100", () -> Loops.eliminate(system));
        time("scramble", "n=1000", () -> Loops.scramble(1000));
        time("pairs", "a_length=1000", () -> Loops.pairs(i1));
        time("lcs", "a_length=200 b_length=200", () -> Loops.lcs(word, second, lengths));
        time("knapsack", "w_length=100 best_length=1000", () -> Loops.knapsack(weights, values, best));
        time("divisors", "n=720720 upto=1000", () -> Loops.divisors(720720, 1000));
        time("average", "a_length=1000", () -> Loops.average(l1, l2));
        time("transpose", "a_length=100", () -> Loops.transpose(one, other));
        time("mix", "a_length=1000", () -> Loops.mix(f1, f2));
        time("welford", "a_length=1000", () -> Loops.welford(a));
        time("fibonacci", "n=1000", () -> Loops.fibonacci(1000));
        time("search", "keys_length=1000", () -> Loops.search(sorted, i1));
    }
}
