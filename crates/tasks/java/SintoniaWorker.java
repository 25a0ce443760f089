// A worker: it connects to the coordinator, gets the classes of an application and runs tasks, one after the other, until the connection
// closes. The words of the protocol are those of the coordinator's module `protocol`.

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

final class SintoniaWorker {
    static final int VERSION = 2;
    static final int LONGEST = 1 << 28;
    static final int DEEPEST = 8;
    static final int PULSE_MILLISECONDS = 500;
    // Without a sign of life for so many pulses of its own, a worker takes its coordinator to be gone.
    static final int PATIENCE_PULSES = 60;
    static final int SEAL_BYTES = 16, NONCE_BYTES = 16;
    static final int HELLO = 1, WELCOME = 2, HERE = 3, CLASSES = 4, READY = 5, RUN = 6, DONE = 7, FAILED = 8, PULSE = 9;
    static final int NOTHING = 0, INT = 1, LONG = 2, DOUBLE = 3, NUMBER = 4, INTS = 5, LONGS = 6, DOUBLES = 7, LIST = 8;

    /// A number of which it is not known yet whether a whole one is wanted.
    static final class Number {
        final long whole;
        final double value;

        Number(long whole, double value) {
            this.whole = whole;
            this.value = value;
        }
    }

    /// The classes of the application, by name.
    static final class Loader extends ClassLoader {
        final Map<String, byte[]> classes = new HashMap<>();

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] code = classes.get(name);
            if (code == null) {
                throw new ClassNotFoundException(name);
            }
            return defineClass(name, code, 0, code.length);
        }
    }

    /// What makes the seals of one direction: nobody makes them who does not hold the token.
    static final class Seal {
        final Mac mac;
        long count = 0;

        Seal(String token, String side, byte[] worker, byte[] coordinator) throws GeneralSecurityException {
            Mac maker = keyed(token.getBytes(StandardCharsets.UTF_8));
            maker.update(worker);
            maker.update(coordinator);
            mac = keyed(maker.doFinal(side.getBytes(StandardCharsets.UTF_8)));
        }

        static Mac keyed(byte[] key) throws GeneralSecurityException {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac;
        }

        /// The seal of the next message.
        byte[] of(byte[] frame) {
            mac.update(ByteBuffer.allocate(8).putLong(0, count++));
            return Arrays.copyOf(mac.doFinal(frame), SEAL_BYTES);
        }
    }

    /// What comes in, and a note that something came.
    final class Noted extends FilterInputStream {
        Noted(InputStream in) {
            super(in);
        }

        @Override
        public int read(byte[] into, int from, int length) throws IOException {
            int count = super.read(into, from, length);
            quietPulses = 0;
            return count;
        }
    }

    volatile int quietPulses = 0;
    final DataInputStream in;
    final DataOutputStream out;
    Seal says, hears;
    final Loader loader = new Loader();
    final LinkedBlockingQueue<byte[]> tasks = new LinkedBlockingQueue<>();

    SintoniaWorker(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        in = new DataInputStream(new BufferedInputStream(new Noted(socket.getInputStream()), 1 << 16));
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), 1 << 16));
    }

    public static void main(String[] arguments) throws Exception {
        String token = System.getenv("SINTONIA_TASKS_TOKEN");
        if (arguments.length != 2 || token == null) {
            System.err.println("a worker needs the host and the port of its coordinator, and SINTONIA_TASKS_TOKEN");
            System.exit(2);
        }
        String address = arguments[0] + ":" + arguments[1];
        SintoniaWorker worker;
        try {
            worker = new SintoniaWorker(new Socket(arguments[0], Integer.parseInt(arguments[1])));
        } catch (IOException error) {
            System.err.println("the coordinator at " + address + " cannot be reached: " + error.getMessage());
            System.exit(1);
            return;
        }
        worker.start(worker::watch);
        worker.start(worker::waitForStarter);
        try {
            worker.hello(token);
        } catch (IOException error) {
            System.err.println("whoever listens at " + address + " is no coordinator of this version: " + error.getMessage());
            System.exit(1);
        }
        worker.start(worker::work);
        worker.start(worker::pulse);
        worker.listen(address);
    }

    interface Job {
        void run() throws Exception;
    }

    /// Runs something beside; when it cannot go on, neither can the worker.
    void start(Job job) {
        Thread thread = new Thread(() -> {
            try {
                job.run();
            } catch (Gone gone) {
                // Whoever listens hears it, too, and ends the worker.
            } catch (Throwable error) {
                System.err.println("this worker cannot go on: " + error.getMessage());
                Runtime.getRuntime().halt(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /// The coordinator takes no more.
    static final class Gone extends IOException {
        Gone(IOException error) {
            super(error);
        }
    }

    synchronized void send(byte[] frame) throws Gone {
        try {
            out.writeInt(frame.length);
            out.write(frame);
            if (says != null) {
                out.write(says.of(frame));
            }
            out.flush();
        } catch (IOException error) {
            throw new Gone(error);
        }
    }

    interface Filling {
        void fill(DataOutputStream out) throws IOException;
    }

    static byte[] frame(int kind, Filling filling) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeByte(kind);
        filling.fill(out);
        return bytes.toByteArray();
    }

    static void text(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    static byte[] bytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > in.available()) {
            throw new IOException("a length that is not there");
        }
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return bytes;
    }

    static String text(DataInputStream in) throws IOException {
        return new String(bytes(in), StandardCharsets.UTF_8);
    }

    void hello(String token) throws IOException, GeneralSecurityException {
        byte[] own = new byte[NONCE_BYTES];
        new SecureRandom().nextBytes(own);
        send(frame(HELLO, out -> {
            out.writeInt(VERSION);
            out.write(own);
        }));
        if (in.readInt() != 1 + NONCE_BYTES || in.readUnsignedByte() != WELCOME) {
            throw new IOException("it does not welcome a worker");
        }
        byte[] theirs = new byte[NONCE_BYTES];
        in.readFully(theirs);
        says = new Seal(token, "worker", own, theirs);
        hears = new Seal(token, "coordinator", own, theirs);
        String host = hostName();
        send(frame(HERE, out -> {
            text(out, host);
            out.writeLong(ProcessHandle.current().pid());
        }));
    }

    static String hostName() {
        try {
            String name = InetAddress.getLocalHost().getHostName();
            return name.substring(0, Math.min(name.length(), 255));
        } catch (IOException unknown) {
            return "unknown";
        }
    }

    /// Reads what the coordinator sends until it sends no more, and then ends, whatever is being computed.
    void listen(String address) {
        boolean known = false;
        try {
            while (true) {
                int length = in.readInt();
                if (length < 1 || length > LONGEST) {
                    break;
                }
                byte[] frame = in.readNBytes(length);
                byte[] seal = in.readNBytes(SEAL_BYTES);
                if (!MessageDigest.isEqual(seal, hears.of(frame))) {
                    System.err.println("whoever listens at " + address + " does not hold the token of this worker");
                    Runtime.getRuntime().halt(1);
                }
                known = true;
                if (frame[0] != PULSE) {
                    tasks.put(frame);
                }
            }
        } catch (IOException | InterruptedException | OutOfMemoryError end) {
            // Without its coordinator a worker has nothing to do.
        }
        if (!known) {
            System.err.println("the coordinator at " + address + " does not know the token of this worker, or has ended");
        }
        Runtime.getRuntime().halt(known ? 0 : 1);
    }

    /// Ends when whoever has started it, and holds the other end of its input, has ended.
    void waitForStarter() throws IOException {
        while (System.in.read() >= 0) {
            // Nothing is said there.
        }
        Runtime.getRuntime().halt(1);
    }

    /// Ends when the coordinator has shown no sign of life for long: a connection that is cut somewhere between hosts does not close.
    void watch() throws Exception {
        while (quietPulses < PATIENCE_PULSES) {
            Thread.sleep(PULSE_MILLISECONDS);
            // Counted by itself rather than by a clock: who was stopped for a while has not waited.
            quietPulses++;
        }
        throw new IOException("its coordinator has shown no sign of life for long");
    }

    void pulse() throws Exception {
        byte[] frame = frame(PULSE, out -> { });
        while (true) {
            send(frame);
            Thread.sleep(PULSE_MILLISECONDS);
        }
    }

    void work() throws Exception {
        while (true) {
            DataInputStream frame = new DataInputStream(new java.io.ByteArrayInputStream(tasks.take()));
            int kind = frame.readUnsignedByte();
            if (kind == CLASSES) {
                learn(frame);
            } else if (kind == RUN) {
                run(frame);
            } else {
                throw new IOException("a message of kind " + kind);
            }
        }
    }

    void learn(DataInputStream frame) throws IOException {
        int count = frame.readInt();
        for (int i = 0; i < count; i++) {
            String name = text(frame);
            loader.classes.put(name, bytes(frame));
        }
        double seconds = Benchmark.seconds();
        send(frame(READY, out -> out.writeDouble(seconds)));
    }

    void run(DataInputStream frame) throws IOException {
        long task = frame.readLong();
        byte[] answer;
        try {
            String name = text(frame);
            Object[] arguments = new Object[frame.readUnsignedByte()];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = read(frame, 0);
            }
            Method method = method(name, arguments);
            long began = System.nanoTime();
            Object result = method.invoke(null, arguments);
            long nanoseconds = System.nanoTime() - began;
            answer = frame(DONE, out -> {
                out.writeLong(task);
                out.writeLong(nanoseconds);
                write(out, result, 0);
            });
        } catch (InvocationTargetException error) {
            answer = failed(task, error.getCause());
        } catch (Throwable error) {
            answer = failed(task, error);
        }
        send(answer);
    }

    static byte[] failed(long task, Throwable error) throws IOException {
        StringWriter trace = new StringWriter();
        if (error instanceof Refused) {
            trace.write(error.getMessage());
        } else {
            error.printStackTrace(new PrintWriter(trace, true));
        }
        return frame(FAILED, out -> {
            out.writeLong(task);
            text(out, trace.toString());
        });
    }

    /// Why a task cannot be run at all.
    static final class Refused extends RuntimeException {
        Refused(String message) {
            super(message);
        }
    }

    /// The static method of that name that takes these arguments, which become of the types that it takes.
    Method method(String name, Object[] arguments) {
        int dot = name.lastIndexOf('.');
        Class<?> owner;
        try {
            owner = Class.forName(name.substring(0, Math.max(dot, 0)), true, loader);
        } catch (ClassNotFoundException error) {
            throw new Refused("there is no class " + name.substring(0, Math.max(dot, 0)));
        }
        String reason = "there is no static method " + name + " of " + arguments.length + " arguments";
        for (Method method : owner.getDeclaredMethods()) {
            Class<?>[] types = method.getParameterTypes();
            if (!method.getName().equals(name.substring(dot + 1)) || !Modifier.isStatic(method.getModifiers()) || types.length != arguments.length) {
                continue;
            }
            Object[] fitting = new Object[arguments.length];
            int wrong = -1;
            for (int i = 0; i < fitting.length && wrong < 0; i++) {
                fitting[i] = fitting(arguments[i], types[i]);
                wrong = fitting[i] == null ? i : -1;
            }
            if (wrong < 0) {
                System.arraycopy(fitting, 0, arguments, 0, fitting.length);
                method.setAccessible(true);
                return method;
            }
            reason = "argument " + (wrong + 1) + " of " + name + " is of type " + types[wrong].getSimpleName() + ", which " + shown(arguments[wrong])
                + " cannot become: numbers become int, long or double, and results of a batch are an array of their type";
        }
        throw new Refused(reason);
    }

    static String shown(Object argument) {
        return argument instanceof Number ? "the number " + ((Number) argument).value : argument.getClass().getSimpleName();
    }

    /// The argument as a type, or nothing if it cannot be of it.
    static Object fitting(Object argument, Class<?> type) {
        if (!(argument instanceof Number)) {
            return type.isInstance(argument) ? argument : null;
        }
        Number number = (Number) argument;
        if (type == long.class) {
            return number.whole;
        } else if (type == int.class) {
            return number.whole == (int) number.whole ? (Object) (int) number.whole : null;
        } else if (type == double.class) {
            return number.value;
        }
        return null;
    }

    static Object read(DataInputStream in, int depth) throws IOException {
        int kind = in.readUnsignedByte();
        switch (kind) {
            case NOTHING: return null;
            case INT: return in.readInt();
            case LONG: return in.readLong();
            case DOUBLE: return in.readDouble();
            case NUMBER: return new Number(in.readLong(), in.readDouble());
            case INTS: {
                int[] values = new int[count(in, 4)];
                block(in, values.length, 4).asIntBuffer().get(values);
                return values;
            }
            case LONGS: {
                long[] values = new long[count(in, 8)];
                block(in, values.length, 8).asLongBuffer().get(values);
                return values;
            }
            case DOUBLES: {
                double[] values = new double[count(in, 8)];
                block(in, values.length, 8).asDoubleBuffer().get(values);
                return values;
            }
            case LIST: {
                int count = count(in, 1);
                if (depth > DEEPEST) {
                    throw new IOException("a list that is too deep");
                }
                if (count == 0) {
                    throw new Refused("a task cannot be given an array of arrays that has none");
                }
                Object first = read(in, depth + 1);
                if (first == null) {
                    throw new Refused("a task cannot be given the results of methods that give none");
                }
                Object values = Array.newInstance(first.getClass(), count);
                Array.set(values, 0, first);
                for (int i = 1; i < count; i++) {
                    Array.set(values, i, read(in, depth + 1));
                }
                return values;
            }
            default: throw new IOException("a value of kind " + kind);
        }
    }

    /// The elements of an array as they are on their way, all at once.
    static ByteBuffer block(DataInputStream in, int count, int bytes) throws IOException {
        byte[] block = new byte[count * bytes];
        in.readFully(block);
        return ByteBuffer.wrap(block);
    }

    static ByteBuffer block(DataOutputStream out, int count, int bytes) throws IOException {
        if ((long) count * bytes > LONGEST) {
            throw new Refused("the result of a task is larger than " + LONGEST + " bytes");
        }
        out.writeInt(count);
        return ByteBuffer.allocate(count * bytes);
    }

    static int count(DataInputStream in, int bytes) throws IOException {
        int count = in.readInt();
        if (count < 0 || (long) count * bytes > in.available()) {
            throw new IOException("an array that is not there");
        }
        return count;
    }

    static final String SENDABLE = "int, long, double and arrays of them can be sent";

    static void write(DataOutputStream out, Object value, int depth) throws IOException {
        if (value == null) {
            out.writeByte(NOTHING);
        } else if (value instanceof Integer) {
            out.writeByte(INT);
            out.writeInt((Integer) value);
        } else if (value instanceof Long) {
            out.writeByte(LONG);
            out.writeLong((Long) value);
        } else if (value instanceof Double) {
            out.writeByte(DOUBLE);
            out.writeDouble((Double) value);
        } else if (value instanceof int[]) {
            out.writeByte(INTS);
            int[] values = (int[]) value;
            ByteBuffer block = block(out, values.length, 4);
            block.asIntBuffer().put(values);
            out.write(block.array());
        } else if (value instanceof long[]) {
            out.writeByte(LONGS);
            long[] values = (long[]) value;
            ByteBuffer block = block(out, values.length, 8);
            block.asLongBuffer().put(values);
            out.write(block.array());
        } else if (value instanceof double[]) {
            out.writeByte(DOUBLES);
            double[] values = (double[]) value;
            ByteBuffer block = block(out, values.length, 8);
            block.asDoubleBuffer().put(values);
            out.write(block.array());
        } else if (value instanceof Object[] && depth < DEEPEST) {
            out.writeByte(LIST);
            out.writeInt(((Object[]) value).length);
            for (Object one : (Object[]) value) {
                if (one == null || !one.getClass().isArray()) {
                    throw new Refused("a task gives an array that holds " + (one == null ? "null" : one.getClass().getSimpleName()) + ", but only " + SENDABLE);
                }
                write(out, one, depth + 1);
            }
        } else {
            throw new Refused("a task gives " + value.getClass().getSimpleName() + ", but only " + SENDABLE);
        }
        if (out.size() > LONGEST) {
            throw new Refused("the result of a task is larger than " + LONGEST + " bytes");
        }
    }

    /// How fast this computer is, by something of everything that tasks do.
    static final class Benchmark {
        static final int ROUNDS = 200000;
        static double sink;

        static double seconds() {
            double least = Double.MAX_VALUE;
            for (int i = 0; i < 12; i++) {
                long began = System.nanoTime();
                sink += once(i);
                least = Math.min(least, (System.nanoTime() - began) * 1e-9);
            }
            return least;
        }

        static double once(long state) {
            double sum = 0;
            int[] memory = new int[1024];
            for (int i = 0; i < ROUNDS; i++) {
                state = state * 6364136223846793005L + 1442695040888963407L;
                double x = (state >>> 11) * 0x1p-53;
                memory[i & 1023] += (int) (state >>> 40) % 1000;
                sum += x / (1.0 + memory[(int) (state >>> 54)]);
            }
            return sum;
        }
    }
}
