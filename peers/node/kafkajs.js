// kafkajs in the shape that tests/peers/programs.py describes: an action in, JSON lines out.
const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");
const path = require("node:path");

const installed = createRequire(path.join(process.env.NODE_PACKAGES, "package.json"));
const { Kafka, CompressionTypes, ConfigResourceTypes, logLevel } = installed("kafkajs");
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP };
const DEADLINE_MS = 60_000;

const [action, bootstrap, topic, ...rest] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING });
const text = (bytes) => (bytes === null || bytes === undefined ? null : bytes.toString());
const show = (found) => process.stdout.write(JSON.stringify(found) + "\n");

async function produce(codec) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const lines = readFileSync(0, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const messages = lines.map(({ partition, key, value, headers, timestamp }) => ({
    partition, key, value, timestamp: String(timestamp), headers: Object.fromEntries(headers ?? []),
  }));
  const acknowledged = await producer.send({ topic, messages, compression: CODECS[codec] });
  // One answer for each partition, with the offset of its first record.
  const next = new Map(acknowledged.map((each) => [each.partition, Number(each.baseOffset)]));
  for (const { partition } of messages) {
    show({ partition, offset: next.get(partition) });
    next.set(partition, next.get(partition) + 1);
  }
  await producer.disconnect();
}

// kafkajs reads as a member of a group or not at all.
async function read(groupId, count) {
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  let left = count;
  const next = new Map();
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        if (left === 0) return;
        const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, text(value)]);
        show({
          partition, offset: Number(message.offset), timestamp: Number(message.timestamp),
          key: text(message.key), value: text(message.value), headers,
        });
        next.set(partition, String(Number(message.offset) + 1));
        if (--left === 0) resolve();
      },
    });
  });
  await consumer.commitOffsets([...next].map(([partition, offset]) => ({ topic, partition, offset })));
  await consumer.disconnect();
}

async function administer() {
  const admin = kafka.admin();
  await admin.connect();
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  const partitions = async () =>
    (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length;
  const setting = async () => {
    const found = await admin.describeConfigs({
      includeSynonyms: false, resources: [{ ...resource, configNames: ["retention.ms"] }],
    });
    return found.resources[0].configEntries[0].configValue;
  };
  const entry = (value) => [{ name: "retention.ms", value }];
  await admin.createTopics({ topics: [{ topic, numPartitions: 3, configEntries: entry("3600000") }] });
  const told = { created: await partitions(), retention: await setting() };
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries: entry("7200000") }] });
  told.altered = await setting();
  await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] });
  told.grown = await partitions();
  await admin.deleteTopics({ topics: [topic] });
  told.deleted = !(await admin.listTopics()).includes(topic);
  show(told);
  await admin.disconnect();
}

const actions = {
  produce: () => produce(rest[0]),
  consume: () => read(`${topic}-reader`, Number(rest[0])),
  group: () => read(rest[0], Number(rest[1])),
  admin: administer,
};
const deadline = setTimeout(() => { console.error("it did not end in time"); process.exit(1); }, DEADLINE_MS);
actions[action]().then(
  () => clearTimeout(deadline),
  (error) => { console.error(error); process.exit(1); },
);
