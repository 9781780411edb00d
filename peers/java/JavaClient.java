import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;

/** Kafka's own client in the shape that tests/peers/programs.py describes: an action in, JSON lines out. */
public class JavaClient {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long DEADLINE_MS = 60_000;
    static final String STRINGS = "org.apache.kafka.common.serialization.String";

    public static void main(String[] given) throws Exception {
        String bootstrap = given[1], topic = given[2];
        String[] rest = Arrays.copyOfRange(given, 3, given.length);
        switch (given[0]) {
            case "produce" -> produce(bootstrap, topic, rest[0]);
            case "consume" -> consume(bootstrap, topic, Integer.parseInt(rest[0]));
            case "group" -> group(bootstrap, topic, rest[0], Integer.parseInt(rest[1]), Map.of());
            case "new-group" -> group(bootstrap, topic, rest[0], Integer.parseInt(rest[1]),
                    Map.of("group.protocol", "consumer"));
            case "cooperative-group" -> group(bootstrap, topic, rest[0], Integer.parseInt(rest[1]),
                    Map.of("partition.assignment.strategy",
                            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"));
            case "admin" -> administer(bootstrap, topic);
            case "offsets" -> offsets(bootstrap, topic, rest[0]);
            case "transact" -> transact(bootstrap, topic);
            default -> throw new IllegalArgumentException(given[0]);
        }
    }

    static void produce(String bootstrap, String topic, String codec) throws Exception {
        Map<String, Object> settings = common(bootstrap);
        settings.put("compression.type", codec);
        settings.put("linger.ms", 20);
        try (var producer = new KafkaProducer<String, String>(settings)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = lines.readLine()) != null; ) {
                JsonNode each = JSON.readTree(line);
                var made = new ProducerRecord<>(topic, each.get("partition").asInt(),
                        each.get("timestamp").asLong(), text(each.get("key")), text(each.get("value")));
                for (JsonNode header : each.path("headers"))
                    made.headers().add(header.get(0).asText(), header.get(1).asText().getBytes(StandardCharsets.UTF_8));
                sent.add(producer.send(made));
            }
            for (var each : sent) {
                RecordMetadata told = each.get();
                show(Map.of("partition", told.partition(), "offset", told.offset()));
            }
        }
    }

    static void consume(String bootstrap, String topic, int count) throws Exception {
        try (var consumer = new KafkaConsumer<String, String>(common(bootstrap))) {
            var places = consumer.partitionsFor(topic).stream()
                    .map(each -> new TopicPartition(topic, each.partition())).toList();
            consumer.assign(places);
            consumer.seekToBeginning(places);
            read(consumer, count);
        }
    }

    static void group(String bootstrap, String topic, String group, int count, Map<String, String> protocol)
            throws Exception {
        Map<String, Object> settings = common(bootstrap);
        settings.put("group.id", group);
        settings.putAll(protocol);
        try (var consumer = new KafkaConsumer<String, String>(settings)) {
            consumer.subscribe(List.of(topic));
            var positions = read(consumer, count);
            consumer.commitSync(positions);
        }
    }

    static Map<TopicPartition, OffsetAndMetadata> read(KafkaConsumer<String, String> consumer, int count)
            throws Exception {
        var positions = new HashMap<TopicPartition, OffsetAndMetadata>();
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        for (int seen = 0; seen < count; ) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException("only " + seen + " came");
            for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(200))) {
                seen++;
                var found = new LinkedHashMap<String, Object>();
                found.put("partition", each.partition());
                found.put("offset", each.offset());
                found.put("timestamp", each.timestamp());
                found.put("key", each.key());
                found.put("value", each.value());
                var headers = new ArrayList<List<String>>();
                for (Header header : each.headers())
                    headers.add(List.of(header.key(), new String(header.value(), StandardCharsets.UTF_8)));
                found.put("headers", headers);
                show(found);
                positions.put(new TopicPartition(each.topic(), each.partition()),
                        new OffsetAndMetadata(each.offset() + 1, "by Java"));
            }
        }
        return positions;
    }

    static void administer(String bootstrap, String topic) throws Exception {
        try (Admin admin = Admin.create(common(bootstrap))) {
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            var told = new LinkedHashMap<String, Object>();
            admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1)
                    .configs(Map.of("retention.ms", "3600000", "cleanup.policy", "delete")))).all().get();
            told.put("created", partitions(admin, topic));
            told.put("retention", setting(admin, resource, "retention.ms"));
            alter(admin, resource, AlterConfigOp.OpType.SET, "retention.ms", "7200000");
            alter(admin, resource, AlterConfigOp.OpType.APPEND, "cleanup.policy", "compact");
            told.put("altered", setting(admin, resource, "retention.ms"));
            told.put("appended", setting(admin, resource, "cleanup.policy"));
            alter(admin, resource, AlterConfigOp.OpType.SUBTRACT, "cleanup.policy", "delete");
            told.put("subtracted", setting(admin, resource, "cleanup.policy"));
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all().get();
            told.put("grown", partitions(admin, topic));
            told.put("nodes", admin.describeCluster().nodes().get().size());
            told.put("log_dirs", admin.describeLogDirs(List.of(1)).allDescriptions().get().size());
            admin.deleteTopics(List.of(topic)).all().get();
            told.put("deleted", !admin.listTopics().names().get().contains(topic));
            show(told);
        }
    }

    /** Of a partition with ten records, and of a group that committed to it. */
    static void offsets(String bootstrap, String topic, String group) throws Exception {
        var place = new TopicPartition(topic, 0);
        try (Admin admin = Admin.create(common(bootstrap))) {
            var told = new LinkedHashMap<String, Object>();
            var asked = new LinkedHashMap<String, OffsetSpec>();
            asked.put("earliest", OffsetSpec.earliest());
            asked.put("latest", OffsetSpec.latest());
            asked.put("max_timestamp", OffsetSpec.maxTimestamp());
            for (var each : asked.entrySet())
                told.put(each.getKey(), admin.listOffsets(Map.of(place, each.getValue())).partitionResult(place)
                        .get().offset());
            var committed = admin.listConsumerGroupOffsets(Map.of(group, new ListConsumerGroupOffsetsSpec()))
                    .partitionsToOffsetAndMetadata(group).get().get(place);
            told.put("committed", committed.offset());
            told.put("metadata", committed.metadata());
            told.put("state", admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState()
                    .toString());
            told.put("low_watermark", admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(4)))
                    .lowWatermarks().get(place).get().lowWatermark());
            told.put("producers", admin.describeProducers(List.of(place)).partitionResult(place).get()
                    .activeProducers().size() > 0);
            admin.deleteConsumerGroupOffsets(group, Set.of(place)).all().get();
            admin.deleteConsumerGroups(List.of(group)).all().get();
            told.put("groups", admin.listGroups().all().get().stream().anyMatch(g -> g.groupId().equals(group)));
            show(told);
        }
    }

    /** One transaction that commits, one that aborts; then what a reader of committed records gets. */
    static void transact(String bootstrap, String topic) throws Exception {
        Map<String, Object> settings = common(bootstrap);
        settings.put("transactional.id", topic);
        try (var producer = new KafkaProducer<String, String>(settings)) {
            producer.initTransactions();
            for (String value : List.of("aborted", "committed")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
                if (value.equals("aborted")) producer.abortTransaction();
                else producer.commitTransaction();
            }
        }
        consume(bootstrap, topic, 1);
    }

    static int partitions(Admin admin, String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
    }

    static void alter(Admin admin, ConfigResource resource, AlterConfigOp.OpType how, String name, String value)
            throws Exception {
        var change = new AlterConfigOp(new ConfigEntry(name, value), how);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
    }

    static String setting(Admin admin, ConfigResource resource, String name) throws Exception {
        return admin.describeConfigs(List.of(resource)).all().get().get(resource).get(name).value();
    }

    static Map<String, Object> common(String bootstrap) {
        var settings = new HashMap<String, Object>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.serializer", STRINGS + "Serializer");
        settings.put("value.serializer", STRINGS + "Serializer");
        settings.put("key.deserializer", STRINGS + "Deserializer");
        settings.put("value.deserializer", STRINGS + "Deserializer");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("fetch.max.wait.ms", "100");
        return settings;
    }

    static String text(JsonNode found) {
        return found == null || found.isNull() ? null : found.asText();
    }

    static void show(Object found) throws Exception {
        System.out.println(JSON.writeValueAsString(found));
    }
}
