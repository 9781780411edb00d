import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;

/** Reads lines of "class version hex", lets Kafka's own class read the bytes, and prints what it writes. */
public class MessageEcho {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", -1);
            String answer;
            try {
                answer = echo(parts[0], Short.parseShort(parts[1]), HexFormat.of().parseHex(parts[2]));
            } catch (Exception error) {
                answer = (error.getCause() == null ? error : error.getCause()).toString().replace('\n', ' ');
            }
            System.out.println(answer);
        }
    }

    private static String echo(String name, short version, byte[] data) throws Exception {
        ByteBuffer input = ByteBuffer.wrap(data);
        ApiMessage message = (ApiMessage) Class.forName(name)
            .getConstructor(org.apache.kafka.common.protocol.Readable.class, short.class)
            .newInstance(new ByteBufferAccessor(input), version);
        if (input.hasRemaining()) {
            return input.remaining() + " bytes were left over";
        }
        ByteBuffer written = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] output = new byte[written.remaining()];
        written.get(output);
        return HexFormat.of().formatHex(output);
    }
}
