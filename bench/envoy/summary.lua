-- wrk calls done once, after the last answer.
function done(summary, latency)
  local e = summary.errors
  print(string.format('{"requests":%d,"refused":%d,"failed":%d,"micros":%d,"p50":%d,"p99":%d}',
    summary.requests, e.status, e.connect + e.read + e.write + e.timeout, summary.duration,
    latency:percentile(50), latency:percentile(99)))
end
