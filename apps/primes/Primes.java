// The primes in a range: every multiple of every number up to the root is crossed out, and what is left is prime.
final class Primes {
    static long search(long from, long to) {
        int size = (int) (to - from);
        boolean[] composite = new boolean[size];
        for (long d = 2; d * d < to; d++) {
            long first = Math.max(d * d, (from + d - 1) / d * d);
            for (long multiple = first; multiple < to; multiple += d) {
                composite[(int) (multiple - from)] = true;
            }
        }
        long count = 0, checksum = 0;
        for (int i = 0; i < size; i++) {
            if (!composite[i]) {
                long prime = from + i;
                long square = prime % 1000003L * (prime % 1000003L);
                checksum = (checksum * 31L + square + prime) % 1000000007L;
                count++;
            }
        }
        // One number holds both: the checksum is below 1000000007.
        return count * 1000000007L + checksum;
    }

    static long total(long[] found) {
        long count = 0;
        for (int i = 0; i < found.length; i++) {
            count += found[i] / 1000000007L;
        }
        return count;
    }
}
