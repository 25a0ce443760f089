// A worker: connects to the coordinator, receives the classes of an application and runs tasks one after the other until the connection
// closes. The protocol is documented in the coordinator's module `protocol`.

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
    static final int MAX_FRAME = 1 << 28;
    static final int MAX_ARRAY_DEPTH = 8;
    static final int HEARTBEAT_MILLISECONDS = 500;
    // Heartbeat timeout for the coordinator, in heartbeats of the worker.
    static final int TIMEOUT_HEARTBEATS = 60;
    static final int MAC_BYTES = 16, NONCE_BYTES = 16;
    static final int HELLO = 1, WELCOME = 2, IDENTIFY = 3, CLASSES = 4, READY = 5, RUN = 6, DONE = 7, FAILED = 8, HEARTBEAT = 9;
    static final int VOID = 0, INT = 1, LONG = 2, DOUBLE = 3, NUMBER = 4, INTS = 5, LONGS = 6, DOUBLES = 7, LIST = 8;

    /// A number that is converted to the parameter's type later.
    static final class Number {
        final long integer;
        final double value;

        Number(long integer, double value) {
            this.integer = integer;
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

    /// The MAC of one direction, keyed with the token.
    static final class MessageMac {
        final Mac mac;
        long count = 0;

        MessageMac(String token, String side, byte[] worker, byte[] coordinator) throws GeneralSecurityException {
            Mac deriving = keyed(token.getBytes(StandardCharsets.UTF_8));
            deriving.update(worker);
            deriving.update(coordinator);
            mac = keyed(deriving.doFinal(side.getBytes(StandardCharsets.UTF_8)));
        }

        static Mac keyed(byte[] key) throws GeneralSecurityException {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac;
        }

        /// The MAC of the next message.
        byte[] tag(byte[] frame) {
            mac.update(ByteBuffer.allocate(8).putLong(0, count++));
            return Arrays.copyOf(mac.doFinal(frame), MAC_BYTES);
        }
    }

    /// Resets the heartbeat timeout when bytes arrive.
    final class TrackedStream extends FilterInputStream {
        TrackedStream(InputStream in) {
            super(in);
        }

        @Override
        public int read(byte[] into, int from, int length) throws IOException {
            int count = super.read(into, from, length);
            missedHeartbeats = 0;
            return count;
        }
    }

    volatile int missedHeartbeats = 0;
    final DataInputStream in;
    final DataOutputStream out;
    MessageMac sendMac, receiveMac;
    final Loader loader = new Loader();
    final LinkedBlockingQueue<byte[]> tasks = new LinkedBlockingQueue<>();

    SintoniaWorker(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        in = new DataInputStream(new BufferedInputStream(new TrackedStream(socket.getInputStream()), 1 << 16));
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
        worker.start(worker::watchHeartbeats);
        worker.start(worker::waitForStarter);
        try {
            worker.hello(token);
        } catch (IOException error) {
            System.err.println(address + " is not a coordinator of this version: " + error.getMessage());
            System.exit(1);
        }
        worker.start(worker::work);
        worker.start(worker::sendHeartbeats);
        worker.listen(address);
    }

    interface Job {
        void run() throws Exception;
    }

    /// Runs a job in a thread; the worker exits if it fails.
    void start(Job job) {
        Thread thread = new Thread(() -> {
            try {
                job.run();
            } catch (ConnectionLost lost) {
                // The listening thread notices it, too, and ends the worker.
            } catch (Throwable error) {
                System.err.println("this worker failed: " + error.getMessage());
                Runtime.getRuntime().halt(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /// The connection to the coordinator is broken.
    static final class ConnectionLost extends IOException {
        ConnectionLost(IOException error) {
            super(error);
        }
    }

    synchronized void send(byte[] frame) throws ConnectionLost {
        try {
            out.writeInt(frame.length);
            out.write(frame);
            if (sendMac != null) {
                out.write(sendMac.tag(frame));
            }
            out.flush();
        } catch (IOException error) {
            throw new ConnectionLost(error);
        }
    }

    interface FrameWriter {
        void write(DataOutputStream out) throws IOException;
    }

    static byte[] frame(int kind, FrameWriter writer) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeByte(kind);
        writer.write(out);
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
            throw new IOException("a truncated message");
        }
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return bytes;
    }

    static String text(DataInputStream in) throws IOException {
        return new String(bytes(in), StandardCharsets.UTF_8);
    }

    void hello(String token) throws IOException, GeneralSecurityException {
        byte[] nonce = new byte[NONCE_BYTES];
        new SecureRandom().nextBytes(nonce);
        send(frame(HELLO, out -> {
            out.writeInt(VERSION);
            out.write(nonce);
        }));
        if (in.readInt() != 1 + NONCE_BYTES || in.readUnsignedByte() != WELCOME) {
            throw new IOException("unexpected answer to hello");
        }
        byte[] coordinatorNonce = new byte[NONCE_BYTES];
        in.readFully(coordinatorNonce);
        sendMac = new MessageMac(token, "worker", nonce, coordinatorNonce);
        receiveMac = new MessageMac(token, "coordinator", nonce, coordinatorNonce);
        String host = hostName();
        send(frame(IDENTIFY, out -> {
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

    /// Reads messages until the connection ends, and then exits, even while a task runs.
    void listen(String address) {
        boolean known = false;
        try {
            while (true) {
                int length = in.readInt();
                if (length < 1 || length > MAX_FRAME) {
                    break;
                }
                byte[] frame = in.readNBytes(length);
                byte[] received = in.readNBytes(MAC_BYTES);
                if (!MessageDigest.isEqual(received, receiveMac.tag(frame))) {
                    System.err.println("the coordinator at " + address + " does not hold the token of this worker");
                    Runtime.getRuntime().halt(1);
                }
                known = true;
                if (frame[0] != HEARTBEAT) {
                    tasks.put(frame);
                }
            }
        } catch (IOException | InterruptedException | OutOfMemoryError end) {
            // Nothing to do without a coordinator.
        }
        if (!known) {
            System.err.println("the coordinator at " + address + " does not know the token of this worker, or has ended");
        }
        Runtime.getRuntime().halt(known ? 0 : 1);
    }

    /// Exits when standard input closes, which means that the parent process has ended.
    void waitForStarter() throws IOException {
        while (System.in.read() >= 0) {
            // Ignored.
        }
        Runtime.getRuntime().halt(1);
    }

    /// Exits on a heartbeat timeout: a connection that is cut between hosts does not close.
    void watchHeartbeats() throws Exception {
        while (missedHeartbeats < TIMEOUT_HEARTBEATS) {
            Thread.sleep(HEARTBEAT_MILLISECONDS);
            // Counted rather than measured, so that time while this process was suspended does not count.
            missedHeartbeats++;
        }
        throw new IOException("heartbeat timeout of the coordinator");
    }

    void sendHeartbeats() throws Exception {
        byte[] frame = frame(HEARTBEAT, out -> { });
        while (true) {
            send(frame);
            Thread.sleep(HEARTBEAT_MILLISECONDS);
        }
    }

    void work() throws Exception {
        while (true) {
            DataInputStream frame = new DataInputStream(new java.io.ByteArrayInputStream(tasks.take()));
            int kind = frame.readUnsignedByte();
            if (kind == CLASSES) {
                loadClasses(frame);
            } else if (kind == RUN) {
                run(frame);
            } else {
                throw new IOException("a message of kind " + kind);
            }
        }
    }

    void loadClasses(DataInputStream frame) throws IOException {
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
            long start = System.nanoTime();
            Object result = method.invoke(null, arguments);
            long nanoseconds = System.nanoTime() - start;
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
        if (error instanceof TaskRefused) {
            trace.write(error.getMessage());
        } else {
            error.printStackTrace(new PrintWriter(trace, true));
        }
        return frame(FAILED, out -> {
            out.writeLong(task);
            text(out, trace.toString());
        });
    }

    /// A task cannot be run at all.
    static final class TaskRefused extends RuntimeException {
        TaskRefused(String message) {
            super(message);
        }
    }

    /// The static method of that name for these arguments, which are converted to its parameter types.
    Method method(String name, Object[] arguments) {
        int dot = name.lastIndexOf('.');
        Class<?> owner;
        try {
            owner = Class.forName(name.substring(0, Math.max(dot, 0)), true, loader);
        } catch (ClassNotFoundException error) {
            throw new TaskRefused("there is no class " + name.substring(0, Math.max(dot, 0)));
        }
        String reason = "there is no static method " + name + " of " + arguments.length + " arguments";
        for (Method method : owner.getDeclaredMethods()) {
            Class<?>[] types = method.getParameterTypes();
            if (!method.getName().equals(name.substring(dot + 1)) || !Modifier.isStatic(method.getModifiers()) || types.length != arguments.length) {
                continue;
            }
            Object[] converted = new Object[arguments.length];
            int wrong = -1;
            for (int i = 0; i < converted.length && wrong < 0; i++) {
                converted[i] = converted(arguments[i], types[i]);
                wrong = converted[i] == null ? i : -1;
            }
            if (wrong < 0) {
                System.arraycopy(converted, 0, arguments, 0, converted.length);
                method.setAccessible(true);
                return method;
            }
            reason = "argument " + (wrong + 1) + " of " + name + " is of type " + types[wrong].getSimpleName() + ", which " + describe(arguments[wrong])
                + " cannot become: numbers become int, long or double, and results of a batch are an array of their type";
        }
        throw new TaskRefused(reason);
    }

    static String describe(Object argument) {
        return argument instanceof Number ? "the number " + ((Number) argument).value : argument.getClass().getSimpleName();
    }

    /// The argument converted to a type, or null.
    static Object converted(Object argument, Class<?> type) {
        if (!(argument instanceof Number)) {
            return type.isInstance(argument) ? argument : null;
        }
        Number number = (Number) argument;
        if (type == long.class) {
            return number.integer;
        } else if (type == int.class) {
            return number.integer == (int) number.integer ? (Object) (int) number.integer : null;
        } else if (type == double.class) {
            return number.value;
        }
        return null;
    }

    static Object read(DataInputStream in, int depth) throws IOException {
        int kind = in.readUnsignedByte();
        switch (kind) {
            case VOID: return null;
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
                if (depth > MAX_ARRAY_DEPTH) {
                    throw new IOException("arrays nested too deeply");
                }
                if (count == 0) {
                    throw new TaskRefused("an empty array of arrays cannot be passed to a task");
                }
                Object first = read(in, depth + 1);
                if (first == null) {
                    throw new TaskRefused("results of void methods cannot be passed to a task");
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

    /// The encoded elements of an array.
    static ByteBuffer block(DataInputStream in, int count, int bytes) throws IOException {
        byte[] block = new byte[count * bytes];
        in.readFully(block);
        return ByteBuffer.wrap(block);
    }

    static ByteBuffer block(DataOutputStream out, int count, int bytes) throws IOException {
        if ((long) count * bytes > MAX_FRAME) {
            throw new TaskRefused("the result of a task is larger than " + MAX_FRAME + " bytes");
        }
        out.writeInt(count);
        return ByteBuffer.allocate(count * bytes);
    }

    static int count(DataInputStream in, int bytes) throws IOException {
        int count = in.readInt();
        if (count < 0 || (long) count * bytes > in.available()) {
            throw new IOException("a truncated array");
        }
        return count;
    }

    static final String SENDABLE = "int, long, double and arrays of them can be sent";

    static void write(DataOutputStream out, Object value, int depth) throws IOException {
        if (value == null) {
            out.writeByte(VOID);
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
        } else if (value instanceof Object[] && depth < MAX_ARRAY_DEPTH) {
            out.writeByte(LIST);
            out.writeInt(((Object[]) value).length);
            for (Object one : (Object[]) value) {
                if (one == null || !one.getClass().isArray()) {
                    throw new TaskRefused("a task returns an array of " + (one == null ? "null" : one.getClass().getSimpleName()) + ", but only " + SENDABLE);
                }
                write(out, one, depth + 1);
            }
        } else {
            throw new TaskRefused("a task returns " + value.getClass().getSimpleName() + ", but only " + SENDABLE);
        }
        if (out.size() > MAX_FRAME) {
            throw new TaskRefused("the result of a task is larger than " + MAX_FRAME + " bytes");
        }
    }

    /// Measures the speed of this computer with a mix of typical operations.
    static final class Benchmark {
        static final int ROUNDS = 200000;
        static double sink;

        static double seconds() {
            double least = Double.MAX_VALUE;
            for (int i = 0; i < 12; i++) {
                long start = System.nanoTime();
                sink += once(i);
                least = Math.min(least, (System.nanoTime() - start) * 1e-9);
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
