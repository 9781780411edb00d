import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What Java programs do with transactions; it prints what it saw. Arguments: bootstrap, topic, group. */
public class TransactionalClient {
    static final int PARTITIONS = 3;

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], topic = arguments[1], group = arguments[2];
        try (KafkaProducer<String, String> producer = producer(bootstrap, topic)) {
            producer.initTransactions();
            for (int number = 0; number < 6; number++) {
                producer.beginTransaction();
                for (int place = 0; place < 30; place++) {
                    producer.send(new ProducerRecord<>(topic, place % PARTITIONS, null, number + "-" + place));
                }
                if (number % 3 == 1) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
            producer.beginTransaction();
            producer.commitTransaction();
            offsets(producer, topic, group, 5L);
            producer.commitTransaction();
            offsets(producer, topic, group, 9L);
            producer.abortTransaction();
            fence(producer, bootstrap, topic);
        }
        read(bootstrap, topic, group);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            var found = admin.describeTransactions(List.of(topic)).description(topic).get();
            System.out.println("state " + found.state());
            System.out.println("epoch " + found.producerEpoch());
        }
    }

    static KafkaProducer<String, String> producer(String bootstrap, String transactionalId) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", transactionalId);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static void offsets(KafkaProducer<String, String> producer, String topic, String group, long offset) {
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        offsets.put(new TopicPartition(topic, 0), new OffsetAndMetadata(offset));
        producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(group));
    }

    static void fence(KafkaProducer<String, String> zombie, String bootstrap, String topic) throws Exception {
        zombie.beginTransaction();
        zombie.send(new ProducerRecord<>(topic, 0, null, "of the zombie")).get();
        try (KafkaProducer<String, String> heir = producer(bootstrap, topic)) {
            heir.initTransactions();
            heir.beginTransaction();
            heir.send(new ProducerRecord<>(topic, 0, null, "of the heir"));
            try {
                zombie.commitTransaction();
                System.out.println("the zombie was not fenced");
            } catch (ProducerFencedException | InvalidProducerEpochException error) {
                System.out.println("fenced");
            }
            heir.commitTransaction();
        }
    }

    static void read(String bootstrap, String topic, String group) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("isolation.level", "read_committed");
        settings.put("group.id", group);
        settings.put("enable.auto.commit", "false");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            List<TopicPartition> places =
                IntStream.range(0, PARTITIONS).mapToObj(index -> new TopicPartition(topic, index)).toList();
            var committed = consumer.committed(java.util.Set.copyOf(places)).get(places.get(0));
            System.out.println("committed " + committed.offset());
            consumer.assign(places);
            consumer.seekToBeginning(places);
            Map<TopicPartition, Long> ends = consumer.endOffsets(places);
            Map<Integer, StringBuilder> values = new TreeMap<>();
            while (places.stream().anyMatch(place -> consumer.position(place) < ends.get(place))) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    values.computeIfAbsent(record.partition(), key -> new StringBuilder())
                        .append(",").append(record.value());
                }
            }
            values.forEach((index, text) -> System.out.println("read " + index + " " + text.substring(1)));
        }
    }
}
