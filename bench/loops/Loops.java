// Loops as programs have them, for `compare.py`: how the time of each lies to what its operations add up to.
final class Loops {
    static double dot(double[] a, double[] b) {
        double s = 0;
        for (int i = 0; i < a.length; i++) {
            s += a[i] * b[i];
        }
        return s;
    }

    static double saxpy(double[] a, double[] b) {
        for (int i = 0; i < a.length; i++) {
            b[i] = b[i] + 0.5 * a[i];
        }
        return b[3];
    }

    static double stencil(double[] a, double[] b) {
        for (int i = 1; i < a.length - 1; i++) {
            b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0;
        }
        return b[3];
    }

    static double matmul(double[][] a, double[][] b, double[][] c) {
        for (int i = 0; i < a.length; i++) {
            for (int j = 0; j < a.length; j++) {
                double s = 0;
                for (int k = 0; k < a.length; k++) {
                    s += a[i][k] * b[k][j];
                }
                c[i][j] = s;
            }
        }
        return c[1][2];
    }

    static long prefix(long[] a) {
        for (int i = 1; i < a.length; i++) {
            a[i] = a[i] + a[i - 1];
        }
        return a[a.length - 1];
    }

    static int hash(int[] a) {
        int h = 7;
        for (int i = 0; i < a.length; i++) {
            h = h * 31 + a[i];
        }
        return h;
    }

    static double horner(double[] a, double x) {
        double r = 0;
        for (int i = 0; i < a.length; i++) {
            r = r * x + a[i];
        }
        return r;
    }

    static int histogram(int[] a, int[] count) {
        for (int i = 0; i < a.length; i++) {
            count[a[i] & 255]++;
        }
        return count[3];
    }

    static double largest(double[] a) {
        double m = 0;
        for (int i = 0; i < a.length; i++) {
            if (a[i] > m) {
                m = a[i];
            }
        }
        return m;
    }

    static double orbit(int n, double cx, double cy) {
        double x = 0, y = 0;
        for (int i = 0; i < n; i++) {
            double t = x * x - y * y + cx;
            y = 2.0 * x * y + cy;
            x = t;
        }
        return x + y;
    }

    static double forces(double[] x, double[] f) {
        for (int i = 0; i < x.length; i++) {
            double s = 0;
            for (int j = 0; j < x.length; j++) {
                double d = x[j] - x[i];
                double r = Math.sqrt(d * d + 0.01);
                s += d / (r * r * r);
            }
            f[i] = s;
        }
        return f[1];
    }

    static int floyd(int[][] d) {
        for (int k = 0; k < d.length; k++) {
            for (int i = 0; i < d.length; i++) {
                for (int j = 0; j < d.length; j++) {
                    int t = d[i][k] + d[k][j];
                    if (t < d[i][j]) {
                        d[i][j] = t;
                    }
                }
            }
        }
        return d[1][2];
    }

    static int bubble(int[] a) {
        for (int i = 0; i < 100; i++) {
            for (int j = 0; j < a.length - 1; j++) {
                if (a[j] > a[j + 1]) {
                    int t = a[j];
                    a[j] = a[j + 1];
                    a[j + 1] = t;
                }
            }
        }
        return a[0];
    }

    static long power(int n, long b) {
        long r = 1;
        for (int i = 0; i < n; i++) {
            r = r * b % 1000000007L;
        }
        return r;
    }

    static double integral(int n) {
        double h = 1.0 / n, s = 0;
        for (int i = 0; i < n; i++) {
            double x = (i + 0.5) * h;
            s += 4.0 / (1.0 + x * x);
        }
        return s * h;
    }

    static double waves(int n) {
        double s = 0;
        for (int i = 0; i < n; i++) {
            s += Math.sin(i * 0.001);
        }
        return s;
    }

    static int quantise(double[] a, int[] b) {
        for (int i = 0; i < a.length; i++) {
            b[i] = (int) (a[i] * 255.0 + 0.5);
        }
        return b[1];
    }

    static double relax(double[][] a) {
        for (int i = 1; i < a.length - 1; i++) {
            for (int j = 1; j < a.length - 1; j++) {
                a[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
            }
        }
        return a[1][1];
    }

    static double eliminate(double[][] a) {
        for (int k = 0; k < a.length - 1; k++) {
            for (int i = k + 1; i < a.length; i++) {
                double f = a[i][k] / a[k][k];
                for (int j = k; j < a.length; j++) {
                    a[i][j] = a[i][j] - f * a[k][j];
                }
            }
        }
        return a[1][1];
    }

    static long scramble(int n) {
        long x = 88172645463325252L;
        for (int i = 0; i < n; i++) {
            x = x ^ (x << 13);
            x = x ^ (x >>> 7);
            x = x ^ (x << 17);
        }
        return x;
    }

    static int pairs(int[] a) {
        int c = 0;
        for (int i = 0; i < a.length; i++) {
            for (int j = i + 1; j < a.length; j++) {
                if (a[i] + a[j] == 1000) {
                    c++;
                }
            }
        }
        return c;
    }

    static int lcs(int[] a, int[] b, int[][] t) {
        for (int i = 1; i < a.length; i++) {
            for (int j = 1; j < b.length; j++) {
                if (a[i] == b[j]) {
                    t[i][j] = t[i - 1][j - 1] + 1;
                } else {
                    t[i][j] = Math.max(t[i - 1][j], t[i][j - 1]);
                }
            }
        }
        return t[a.length - 1][b.length - 1];
    }

    static int knapsack(int[] w, int[] v, int[] best) {
        for (int i = 0; i < w.length; i++) {
            for (int c = best.length - 1; c >= 100; c--) {
                int t = best[c - w[i]] + v[i];
                best[c] = Math.max(best[c], t);
            }
        }
        return best[best.length - 1];
    }

    static int divisors(long n, long upto) {
        int c = 0;
        for (long d = 1; d < upto; d++) {
            if (n % d == 0) {
                c++;
            }
        }
        return c;
    }

    static long average(long[] a, long[] b) {
        for (int i = 2; i < a.length; i++) {
            b[i] = (a[i] + a[i - 1] + a[i - 2]) / 3;
        }
        return b[4];
    }

    static double transpose(double[][] a, double[][] b) {
        for (int i = 0; i < a.length; i++) {
            for (int j = 0; j < a.length; j++) {
                b[j][i] = a[i][j];
            }
        }
        return b[1][2];
    }

    static float mix(float[] a, float[] b) {
        float s = 0;
        for (int i = 0; i < a.length; i++) {
            float d = a[i] - b[i];
            s += d * d;
        }
        return s;
    }

    static double welford(double[] a) {
        double mean = 0, m2 = 0;
        for (int i = 0; i < a.length; i++) {
            double d = a[i] - mean;
            mean += d / (i + 1);
            m2 += d * (a[i] - mean);
        }
        return m2;
    }

    static long fibonacci(int n) {
        long a = 0, b = 1;
        for (int i = 0; i < n; i++) {
            long c = (a + b) % 1000000007L;
            a = b;
            b = c;
        }
        return a;
    }

    static int search(int[] a, int[] keys) {
        int f = 0;
        for (int k = 0; k < keys.length; k++) {
            int lo = 0;
            for (int step = 512; step > 0; step /= 2) {
                if (a[lo + step] <= keys[k]) {
                    lo = lo + step;
                }
            }
            f += lo;
        }
        return f;
    }
}
