// A worker: it connects to the coordinator, gets the classes of an application and runs tasks, one after the other, until the connection
// closes. The words of the protocol are those of the coordinator's module `protocol`.

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
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
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

final class SintoniaWorker {
    static final int VERSION = 1;
    static final int LONGEST = 1 << 28;
    static final int DEEPEST = 8;
    static final int PULSE_MILLISECONDS = 500;
    static final int HELLO = 1, CLASSES = 2, READY = 3, RUN = 4, DONE = 5, FAILED = 6, PULSE = 7;
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

    final DataInputStream in;
    final DataOutputStream out;
    final Loader loader = new Loader();
    final LinkedBlockingQueue<byte[]> tasks = new LinkedBlockingQueue<>();

    SintoniaWorker(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), 1 << 16));
    }

    public static void main(String[] arguments) throws Exception {
        String token = System.getenv("SINTONIA_TASKS_TOKEN");
        if (arguments.length != 2 || token == null) {
            System.err.println("a worker needs the host and the port of its coordinator, and SINTONIA_TASKS_TOKEN");
            System.exit(2);
        }
        SintoniaWorker worker;
        try {
            worker = new SintoniaWorker(new Socket(arguments[0], Integer.parseInt(arguments[1])));
        } catch (IOException error) {
            System.err.println("the coordinator at " + arguments[0] + ":" + arguments[1] + " cannot be reached: " + error.getMessage());
            System.exit(1);
            return;
        }
        worker.hello(token);
        worker.start(worker::work);
        worker.start(worker::pulse);
        worker.listen();
    }

    interface Job {
        void run() throws Exception;
    }

    /// Runs something beside; when it cannot go on, neither can the worker.
    void start(Job job) {
        Thread thread = new Thread(() -> {
            try {
                job.run();
            } catch (Throwable error) {
                Runtime.getRuntime().halt(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    synchronized void send(byte[] frame) throws IOException {
        out.writeInt(frame.length);
        out.write(frame);
        out.flush();
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

    void hello(String token) throws IOException {
        String host;
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (IOException unknown) {
            host = "unknown";
        }
        String name = host;
        send(frame(HELLO, out -> {
            out.writeInt(VERSION);
            text(out, token);
            text(out, name);
            out.writeLong(ProcessHandle.current().pid());
        }));
    }

    /// Reads what the coordinator sends until it sends no more, and then ends, whatever is being computed.
    void listen() {
        try {
            while (true) {
                int length = in.readInt();
                if (length < 1 || length > LONGEST) {
                    break;
                }
                byte[] frame = new byte[length];
                in.readFully(frame);
                tasks.put(frame);
            }
        } catch (IOException | InterruptedException | OutOfMemoryError end) {
            // Without its coordinator a worker has nothing to do.
        }
        Runtime.getRuntime().halt(0);
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
            reason = "argument " + (wrong + 1) + " of " + name + " is " + types[wrong].getSimpleName() + ", which " + shown(arguments[wrong]) + " is not";
        }
        throw new Refused(reason);
    }

    static String shown(Object argument) {
        if (argument instanceof Number) {
            return String.valueOf(((Number) argument).value);
        }
        return argument == null ? "the result of a method without one" : argument.getClass().getSimpleName();
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
                if (depth == DEEPEST || count == 0) {
                    throw new IOException("a list that is too deep, or empty");
                }
                Object first = read(in, depth + 1);
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
                write(out, one, depth + 1);
            }
        } else {
            throw new Refused("a task gives " + value.getClass().getSimpleName() + ", but only int, long, double and arrays of them can be sent");
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
