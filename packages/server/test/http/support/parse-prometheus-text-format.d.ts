declare module 'parse-prometheus-text-format' {
  interface Family {
    name: string;
    type: 'COUNTER' | 'GAUGE' | 'HISTOGRAM' | 'SUMMARY' | 'UNTYPED';
    metrics: { labels?: Record<string, string>; value?: string }[];
  }
  export default function parsePrometheusTextFormat(text: string): Family[];
}
