import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.core.IntervalFunction;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Plays one script for each row of the table of resilience4j in docs/migrating.md, in virtual
 * time, with resilience4j and with "sluice eval", and compares which calls are admitted. A row
 * lists the calls that differ; any other difference ends the program with status 1.
 *
 * <p>Arguments: the program sluice, and docs/migrating.md, whose rows have to be those here.
 */
public final class Rows {
  /** A call of a script: its marks in milliseconds. One that ends at -1 never ends. */
  record Call(int id, long at, long end, String outcome) {}

  /** One step of a script: the start or the end of a call. */
  record Event(long at, boolean ends, Call call) {}

  /** What plays a script: tryStart says whether a call is admitted, end ends one that was. */
  interface There {
    boolean tryStart(Call call);

    default void end(Call call) {}
  }

  /** A clock that a script sets. */
  static final class Virtual extends Clock {
    long millis;

    @Override
    public Instant instant() {
      return Instant.ofEpochMilli(millis);
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }

  static final class Ignored extends RuntimeException {}

  static final Virtual clock = new Virtual();
  static final List<Call> script = new ArrayList<>();

  static void call(long at, long takes, String outcome) {
    script.add(new Call(script.size() + 1, at, takes < 0 ? -1 : at + takes, outcome));
  }

  /** Adds n calls, one each step milliseconds, whose outcomes repeat those given. */
  static void calls(int n, long from, long step, long takes, String... outcomes) {
    for (int i = 0; i < n; i++) {
      call(from + i * step, takes, outcomes[i % outcomes.length]);
    }
  }

  static There breaker(CircuitBreakerConfig.Builder builder) {
    CircuitBreaker breaker =
        CircuitBreaker.of(
            "row",
            builder
                .clock(clock)
                .currentTimestampFunction(Clock::millis, TimeUnit.MILLISECONDS)
                .ignoreExceptions(Ignored.class)
                .build());
    return new There() {
      @Override
      public boolean tryStart(Call call) {
        return breaker.tryAcquirePermission();
      }

      @Override
      public void end(Call call) {
        long took = call.end - call.at;
        switch (call.outcome) {
          case "ok" -> breaker.onSuccess(took, TimeUnit.MILLISECONDS);
          case "ignore" -> breaker.onError(took, TimeUnit.MILLISECONDS, new Ignored());
          default -> breaker.onError(took, TimeUnit.MILLISECONDS, new RuntimeException());
        }
      }
    };
  }

  static There limiter(int limit, Duration period) {
    AtomicRateLimiter limiter =
        new AtomicRateLimiter(
            "row",
            RateLimiterConfig.custom()
                .limitForPeriod(limit)
                .limitRefreshPeriod(period)
                .timeoutDuration(Duration.ZERO)
                .build(),
            () -> TimeUnit.MILLISECONDS.toNanos(clock.millis));
    return call -> limiter.acquirePermission(1);
  }

  static There bulkhead(int concurrent) {
    Bulkhead bulkhead =
        Bulkhead.of(
            "row",
            BulkheadConfig.custom()
                .maxConcurrentCalls(concurrent)
                .maxWaitDuration(Duration.ZERO)
                .build());
    return new There() {
      @Override
      public boolean tryStart(Call call) {
        return bulkhead.tryAcquirePermission();
      }

      @Override
      public void end(Call call) {
        bulkhead.onComplete();
      }
    };
  }

  static List<Event> events() {
    List<Event> events = new ArrayList<>();
    for (Call call : script) {
      events.add(new Event(call.at, false, call));
      if (call.end >= 0) {
        events.add(new Event(call.end, true, call));
      }
    }
    // The ends of a mark are before its starts.
    events.sort(Comparator.comparingLong(Event::at).thenComparing(event -> !event.ends));
    return events;
  }

  static TreeSet<Integer> admittedThere(There there) {
    TreeSet<Integer> admitted = new TreeSet<>();
    for (Event event : events()) {
      clock.millis = event.at;
      if (!event.ends) {
        if (there.tryStart(event.call)) {
          admitted.add(event.call.id);
        }
      } else if (admitted.contains(event.call.id)) {
        there.end(event.call);
      }
    }
    return admitted;
  }

  static String program;

  static List<String> eval(String step, List<String> lines) throws IOException {
    Path policy = Files.createTempFile("row", ".yaml");
    Path input = Files.createTempFile("row", ".ndjson");
    try {
      Files.writeString(policy, "version: 1\npolicies: {row: {steps: [{" + step + "}]}}\n");
      Files.write(input, lines);
      Process process =
          new ProcessBuilder(program, "eval", "--policy", policy.toString())
              .redirectInput(input.toFile())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      List<String> out =
          new String(process.getInputStream().readAllBytes()).lines().collect(Collectors.toList());
      if (process.waitFor() != 0) {
        throw new IOException("sluice eval fails for " + step);
      }
      return out;
    } catch (InterruptedException e) {
      throw new IOException(e);
    } finally {
      Files.delete(policy);
      Files.delete(input);
    }
  }

  static final Pattern ADMIT = Pattern.compile("\"id\":(\\d+),\"decision\":\"admit\"");

  static TreeSet<Integer> admittedHere(String step) throws IOException {
    List<String> lines = new ArrayList<>();
    for (Event event : events()) {
      Call call = event.call;
      lines.add(
          event.ends
              ? "{\"at\":\"%dms\",\"op\":\"done\",\"id\":%d,\"outcome\":\"%s\"}"
                  .formatted(event.at, call.id, call.outcome)
              : "{\"at\":\"%dms\",\"op\":\"call\",\"id\":%d}".formatted(event.at, call.id));
    }
    TreeSet<Integer> admitted = new TreeSet<>();
    for (String line : eval(step, lines)) {
      Matcher m = ADMIT.matcher(line);
      if (m.find()) {
        admitted.add(Integer.parseInt(m.group(1)));
      }
    }
    return admitted;
  }

  static final Map<String, String> results = new LinkedHashMap<>();
  static boolean failed;

  static void report(String row, String result, boolean ok) {
    failed |= !ok;
    results.put(row, result);
    System.out.printf("%-18s %s%s%n", row, result, ok ? "" : "   NOT AS THE TABLE SAYS");
  }

  /** Plays the script. The calls of differs are admitted by one of both alone. */
  static void row(String name, String step, There there, Integer... differs) throws IOException {
    TreeSet<Integer> theirs = admittedThere(there);
    TreeSet<Integer> ours = admittedHere(step);
    TreeSet<Integer> different = new TreeSet<>();
    for (Call call : script) {
      if (theirs.contains(call.id) != ours.contains(call.id)) {
        different.add(call.id);
      }
    }
    String result =
        "%d calls, admitted there %d, here %d".formatted(script.size(), theirs.size(), ours.size());
    if (!different.isEmpty()) {
      result += ", different " + different;
    }
    boolean both = !theirs.isEmpty() && theirs.size() < script.size();
    report(name, result, both && different.equals(new TreeSet<>(List.of(differs))));
    script.clear();
    clock.millis = 0;
  }

  static final Pattern RETRY =
      Pattern.compile("\"at\":\"([0-9.a-zµ]+)\",\"id\":1,\"decision\":\"retry\".*\"until\":\"([0-9.a-zµ]+)\"");

  static long millis(String duration) {
    return Duration.parse("PT" + duration.replaceAll("([0-9]+)ms", "0.$1s")).toMillis();
  }

  /** Compares the delays of a retry whose attempts fail at once. */
  static void delays(String name, String backoff, int retries, IntervalFunction there)
      throws IOException {
    List<String> lines = new ArrayList<>();
    lines.add("{\"at\":0,\"op\":\"call\",\"id\":1}");
    long at = 0;
    List<Long> theirs = new ArrayList<>();
    for (int k = 1; k <= retries; k++) {
      theirs.add(there.apply(k));
      lines.add("{\"at\":\"%dms\",\"op\":\"done\",\"id\":1,\"outcome\":\"fail\"}".formatted(at));
      at += there.apply(k);
    }
    List<Long> ours = new ArrayList<>();
    String step = "retry: {attempts: %d, backoff: %s, jitter: none}".formatted(retries + 1, backoff);
    for (String line : eval(step, lines)) {
      Matcher m = RETRY.matcher(line);
      if (m.find()) {
        ours.add(millis(m.group(2)) - millis(m.group(1)));
      }
    }
    report(name, "delays in ms, there " + theirs + ", here " + ours, theirs.equals(ours));
  }

  public static void main(String[] args) throws IOException {
    program = new File(args[0]).getAbsolutePath();

    calls(100, 0, 10, 1, "ok", "fail");
    calls(20, 1000, 1000, 1, "ok");
    calls(40, 61_001, 10, 1, "ok");
    row(
        "r4j-calls",
        "breaker: {window: {calls: 100}, minimum: 100, failure_rate: 50%, open: 1m}",
        breaker(CircuitBreakerConfig.custom()));

    // The failures are in seconds that the window leaves behind before the last ones come.
    calls(8, 500, 1000, 1, "fail");
    calls(40, 20_500, 1000, 1, "ok");
    calls(30, 100_500, 200, 1, "fail");
    row(
        "r4j-time",
        "breaker: {window: {time: 60s, buckets: 60}, minimum: 20, failure_rate: 50%, open: 1m}",
        breaker(
            CircuitBreakerConfig.custom()
                .slidingWindowType(SlidingWindowType.TIME_BASED)
                .slidingWindowSize(60)
                .minimumNumberOfCalls(20)));

    calls(10, 0, 10, 1, "fail");
    calls(12, 10_001, 1, 100, "ok", "fail", "fail");
    calls(5, 11_000, 1000, 1, "ok");
    calls(14, 21_000, 1, 100, "ok");
    calls(30, 22_000, 10, 1, "ok");
    row(
        "r4j-probes",
        "breaker: {window: {calls: 10}, minimum: 10, open: 10s, probes: 10}",
        breaker(
            CircuitBreakerConfig.custom()
                .slidingWindowSize(10)
                .minimumNumberOfCalls(10)
                .waitDurationInOpenState(Duration.ofSeconds(10))));

    // Call 1 began before the breaker opened and fails among the two probes, which succeed.
    call(0, 10_500, "fail");
    calls(4, 1, 1, 1, "fail");
    calls(2, 10_100, 100, 1000, "ok");
    calls(3, 12_000, 100, 1, "ok");
    row(
        "r4j-generation",
        "breaker: {window: {calls: 4}, minimum: 4, open: 10s, probes: 2}",
        breaker(
            CircuitBreakerConfig.custom()
                .slidingWindowSize(4)
                .minimumNumberOfCalls(4)
                .permittedNumberOfCallsInHalfOpenState(2)
                .waitDurationInOpenState(Duration.ofSeconds(10))),
        8, 9, 10);

    // The two probes never end.
    calls(4, 0, 1, 1, "fail");
    calls(2, 10_100, 100, -1, "ok");
    calls(2, 25_000, 100, 10, "ok");
    calls(3, 26_000, 100, 10, "ok");
    row(
        "r4j-lost-probes",
        "breaker: {window: {calls: 4}, minimum: 4, open: 10s, probes: 2}",
        breaker(
            CircuitBreakerConfig.custom()
                .slidingWindowSize(4)
                .minimumNumberOfCalls(4)
                .permittedNumberOfCallsInHalfOpenState(2)
                .waitDurationInOpenState(Duration.ofSeconds(10))),
        7, 8, 9, 10, 11);

    calls(3, 0, 5000, 1000, "ok");
    calls(7, 15_000, 5000, 3000, "ok");
    calls(10, 60_000, 100, 1, "ok");
    row(
        "r4j-slow",
        "breaker: {window: {calls: 10}, minimum: 10, open: 1m, slow: {over: 2s, rate: 70%}}",
        breaker(
            CircuitBreakerConfig.custom()
                .slidingWindowSize(10)
                .minimumNumberOfCalls(10)
                .slowCallDurationThreshold(Duration.ofSeconds(2))
                .slowCallRateThreshold(70)));

    calls(8, 0, 10, 1, "ignore", "fail");
    calls(4, 1000, 10, 1, "ok");
    row(
        "r4j-ignore",
        "breaker: {window: {calls: 4}, minimum: 4, open: 1m}",
        breaker(CircuitBreakerConfig.custom().slidingWindowSize(4).minimumNumberOfCalls(4)));

    // Each probe fails, and the open time doubles from one time to the next.
    calls(4, 0, 1, 1, "fail");
    calls(700, 500, 1000, 1, "fail");
    row(
        "r4j-open",
        "breaker: {window: {calls: 4}, minimum: 4, probes: 1, open: {exponential: 10s, max: 5m}}",
        breaker(
            CircuitBreakerConfig.custom()
                .slidingWindowSize(4)
                .minimumNumberOfCalls(4)
                .permittedNumberOfCallsInHalfOpenState(1)
                .waitIntervalFunctionInOpenState(
                    IntervalFunction.ofExponentialBackoff(10_000, 2, 300_000))));

    calls(60, 0, 1, 0, "ok");
    calls(60, 1000, 1, 0, "ok");
    row("r4j-limit", "limit: {algorithm: fixed-window, rate: 50/1s}", limiter(50, Duration.ofSeconds(1)));

    // There the periods follow each other from the start; here the first call begins one.
    calls(60, 900, 1, 0, "ok");
    calls(60, 1001, 1, 0, "ok");
    row(
        "r4j-periods",
        "limit: {algorithm: fixed-window, rate: 50/1s}",
        limiter(50, Duration.ofSeconds(1)),
        script.stream().filter(c -> c.id > 60 && c.id <= 110).map(Call::id).toArray(Integer[]::new));

    calls(30, 0, 1, 100, "ok");
    calls(30, 200, 1, 100, "ok");
    row("r4j-bulkhead", "bulkhead: 25", bulkhead(25));

    delays("r4j-wait", "{constant: 500ms}", 4, IntervalFunction.of(500));
    delays("r4j-exponential", "{exponential: 500ms, factor: 1.5, max: 1m}", 4, IntervalFunction.ofExponentialBackoff(500, 1.5));

    for (String row : results.keySet()) {
      if (!Files.readString(Path.of(args[1])).contains("`" + row + "` |")) {
        System.out.println(args[1] + " has no row " + row);
        failed = true;
      }
    }
    Matcher named = Pattern.compile("`(r4j-[a-z-]+)` \\|").matcher(Files.readString(Path.of(args[1])));
    while (named.find()) {
      if (!results.containsKey(named.group(1))) {
        System.out.println(args[1] + " has a row that does not run: " + named.group(1));
        failed = true;
      }
    }
    System.exit(failed ? 1 : 0);
  }
}
