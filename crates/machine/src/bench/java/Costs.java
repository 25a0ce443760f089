// Costs of arithmetic in a Java virtual machine, after JIT compilation.
//
// The same steps run in a loop with few of them and in one with many; the difference is their cost. All operands come from mutable
// fields, so that the compiler cannot fold them, and all results are added up.
final class Costs {
    static final int TIMES = 15;
    static final int PLACES = 512;
    static final double LONG = 50e-6;
    static final double LEAST = 1e-12;

    static int first_int = 3, second_int = 31622, apart_int = 1, same_int = 1000003, nothing_int = 0, four_int = 0x40800000, never_int = Integer.MIN_VALUE;
    static long first_long = 3, second_long = 31622, apart_long = 1, same_long = 1000003, nothing_long = 0, four_long = 0x4010000000000000L, never_long = Long.MIN_VALUE;
    static float first_float = 1.00001f, second_float = 0.99999f, apart_float = 1e-6f, same_float = 1.0003f, nothing_float = 0, four_float = 4, never_float = Float.NEGATIVE_INFINITY;
    static double first_double = 1.00001, second_double = 0.99999, apart_double = 1e-6, same_double = 1.0003, nothing_double = 0, four_double = 4, never_double = Double.NEGATIVE_INFINITY;
    // For integers, `four` has the bits of the floating-point number 4.
    // Aliases of the same array, unknown to the compiler: values written through one are read through the other.
    static int here = 7, there = 7;
    static int[] read_int = new int[PLACES], write_int = new int[PLACES], again_int = write_int;
    static long[] read_long = new long[PLACES], write_long = new long[PLACES], again_long = write_long;
    static float[] read_float = new float[PLACES], write_float = new float[PLACES], again_float = write_float;
    static double[] read_double = new double[PLACES], write_double = new double[PLACES], again_double = write_double;
    static int small = 64, large = 64 << 10;
    static double sink;
    static Object kept;

    /// A random cycle through all elements, each holding the index of the next.
    static void roundTrip() {
        int[] order = new int[PLACES];
        java.util.Random random = new java.util.Random(1);
        for (int i = 0; i < PLACES; i++) {
            int other = random.nextInt(i + 1);
            order[i] = order[other];
            order[other] = i;
        }
        for (int i = 0; i < PLACES; i++) {
            int next = order[(i + 1) % PLACES];
            read_int[order[i]] = next;
            read_long[order[i]] = next;
            read_float[order[i]] = Float.intBitsToFloat(next);
            read_double[order[i]] = Double.longBitsToDouble(next);
        }
    }

    static double time(int which, int rounds) {
        long began = System.nanoTime();
        sink += run(which, rounds);
        return (System.nanoTime() - began) * 1e-9;
    }

    /// Warms up until the JIT has compiled the method at the highest level, by number of calls and of loop iterations.
    static void warm(int which) {
        for (int i = 0; i < 1500; i++) {
            sink += run(which, 32);
        }
    }

    static int enough(int which) {
        int rounds = 64;
        while (time(which, rounds) < LONG && rounds < 1 << 20) {
            rounds *= 2;
        }
        return rounds;
    }

    /// Seconds per step, less its additional operations; `few` and `many` are the methods, which differ by `difference` steps per round.
    static double measure(String name, int few, int many, int difference, double besides) {
        warm(few);
        warm(many);
        int rounds = enough(many);
        double[] values = new double[TIMES];
        for (int i = 0; i < TIMES; i++) {
            values[i] = (time(many, rounds) - time(few, rounds)) / ((double) difference * rounds);
        }
        return say(name, values, besides);
    }

    /// Seconds per allocated byte.
    static double allocate(String name, int which, int bytes) {
        warm(which);
        int rounds = enough(which);
        double[] values = new double[TIMES];
        for (int i = 0; i < TIMES; i++) {
            values[i] = time(which, rounds) / ((double) bytes * rounds);
        }
        return say(name, values, 0);
    }

    static double say(String name, double[] values, double besides) {
        StringBuilder line = new StringBuilder("sintonia-cost ").append(name);
        for (double value : values) {
            line.append(' ').append(Math.max(value - besides, LEAST));
        }
        System.out.println(line);
        java.util.Arrays.sort(values);
        return values[values.length / 2];
    }

    static int called(int one, int other) {
        return one + other;
    }

    static int inlined(int one, int other) {
        return one + other;
    }

    static double small(int rounds) {
        int size = small;
        for (int round = 0; round < rounds; round++) {
            kept = new byte[size];
        }
        return rounds;
    }

    static double large(int rounds) {
        int size = large;
        for (int round = 0; round < rounds; round++) {
            kept = new byte[size];
        }
        return rounds;
    }
