// Pi by chance: of the points of a square, a quarter of pi lie inside the circle around its corner.
final class Pi {
    static final long MULTIPLIER = 6364136223846793005L;
    static final long INCREMENT = 1442695040888963407L;
    static final double SCALE = 1.0 / 9007199254740992.0;

    // How many of so many points are inside. The same seed gives the same points on any computer.
    static long inside(long points, long seed) {
        long state = seed * MULTIPLIER + INCREMENT;
        long inside = 0;
        for (long i = 0; i < points; i++) {
            state = state * MULTIPLIER + INCREMENT;
            double x = (state >>> 11) * SCALE;
            state = state * MULTIPLIER + INCREMENT;
            double y = (state >>> 11) * SCALE;
            if (x * x + y * y <= 1.0) {
                inside++;
            }
        }
        return inside;
    }

    static double pi(long[] inside, long points) {
        long sum = 0;
        for (int i = 0; i < inside.length; i++) {
            sum += inside[i];
        }
        return 4.0 * sum / points;
    }
}
