package otlp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logs "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"

	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
	"bailiff/runtime/tracecontext"
)

// scope names what the records come from, and begins the names of their attributes.
const scope = "bailiff"

// requestOf returns the request that has the events.
func requestOf(events []ledger.LoggedEvent, version string) *collector.ExportLogsServiceRequest {
	records := make([]*logs.LogRecord, len(events))
	for i := range events {
		records[i] = recordOf(&events[i])
	}
	return &collector.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
		Resource:  &resource.Resource{Attributes: []*common.KeyValue{named("service.name", textOf(scope)), named("service.version", textOf(version))}},
		ScopeLogs: []*logs.ScopeLogs{{Scope: &common.InstrumentationScope{Name: scope, Version: version}, LogRecords: records}},
	}}}
}

// recordOf returns the log record of an event: the fields of its JSON form are the attributes, its message the body.
func recordOf(event *ledger.LoggedEvent) *logs.LogRecord {
	view := eventjson.View(event)
	record := &logs.LogRecord{
		TimeUnixNano: uint64(view.Timestamp.UnixNano()), ObservedTimeUnixNano: uint64(view.Timestamp.UnixNano()),
		SeverityNumber: logs.SeverityNumber_SEVERITY_NUMBER_INFO, SeverityText: "INFO",
		EventName: scope + "." + view.Event, Body: textOf(bodyOf(&view)), Attributes: attributesOf(&view),
	}
	if view.Decision == ledger.Denied.String() || event.Kind == ledger.RequestMalformed {
		record.SeverityNumber, record.SeverityText = logs.SeverityNumber_SEVERITY_NUMBER_WARN, "WARN"
	}
	if parent, ok := tracecontext.Parse(event.Event.Subject.Texts[subject.Trace]); ok {
		record.TraceId, record.SpanId, record.Flags = parent.Trace[:], parent.Span[:], uint32(parent.Flags)
	}
	return record
}

// bodyOf returns the one line that a person reads.
func bodyOf(view *eventjson.Event) string {
	line := view.Event
	for _, part := range []string{view.Decision, view.Action, view.Rule, view.Message} {
		if part != "" {
			line += " " + part
		}
	}
	return line
}

// attributesOf returns the members of the JSON form of an event, in its order.
func attributesOf(view *eventjson.Event) []*common.KeyValue {
	text, err := json.Marshal(view)
	if err != nil {
		panic(err) // a struct of texts and numbers
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := valueOf(decoder)
	if err != nil {
		panic(err) // it was written above
	}
	members := value.GetKvlistValue().GetValues()
	for _, member := range members {
		member.Key = scope + "." + member.Key
	}
	return members
}

var errNotJSON = errors.New("not a JSON value")

// valueOf reads one JSON value.
func valueOf(decoder *json.Decoder) (*common.AnyValue, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case string:
		return textOf(token), nil
	case bool:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: token}}, nil
	case json.Number:
		if n, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
			return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}, nil
		}
		return textOf(token.String()), nil // beyond 64 bits
	case json.Delim:
		return compositeOf(decoder, token)
	}
	return nil, errNotJSON
}

// compositeOf reads the rest of an object or array.
func compositeOf(decoder *json.Decoder, opening json.Delim) (*common.AnyValue, error) {
	var members []*common.KeyValue
	var elements []*common.AnyValue
	for decoder.More() {
		name := ""
		if opening == '{' {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			name, _ = token.(string)
		}
		value, err := valueOf(decoder)
		if err != nil {
			return nil, err
		}
		members, elements = append(members, named(name, value)), append(elements, value)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if opening == '{' {
		return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: members}}}, nil
	}
	return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: elements}}}, nil
}

func named(key string, value *common.AnyValue) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: value}
}

func textOf(text string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text}}
}
