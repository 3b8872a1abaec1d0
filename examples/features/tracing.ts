import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { TracingParts, TracingSetup } from 'outwait';

export function createTracing({ idGenerator }: TracingSetup): TracingParts {
  const provider = new BasicTracerProvider({
    idGenerator,
    resource: resourceFromAttributes({ 'service.name': 'orders' }),
    // To OTEL_EXPORTER_OTLP_ENDPOINT, by default a collector on http://localhost:4318, such as ADOT's layer for Lambda.
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  return { provider, api: { trace, ROOT_CONTEXT } };
}
