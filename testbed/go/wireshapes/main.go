// Command wireshapes prints how the Go types of Kubernetes' kinds are written in protocol buffers: the number and
// the JSON name of every field, and what is in it.
package main

import (
	"encoding/json"
	"log"
	"os"
	"reflect"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Field is one field of a message. An empty name means that the fields of the message in it belong to the parent.
type Field struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // string, strings, bytes, bool, int, double, or the name of a message
	Repeated bool   `json:"repeated,omitempty"`
	Map      bool   `json:"map,omitempty"` // from string to the type
}

// Shapes holds the message of every kind, and the fields of every message by their numbers.
type Shapes struct {
	Kinds    map[string]string           `json:"kinds"`
	Messages map[string]map[string]Field `json:"messages"`
}

func main() {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme,
	} {
		if err := add(all); err != nil {
			log.Fatal(err)
		}
	}
	shapes := Shapes{Kinds: map[string]string{}, Messages: map[string]map[string]Field{}}
	for kind, found := range all.AllKnownTypes() {
		shapes.Kinds[kind.GroupVersion().String()+"/"+kind.Kind] = nameOf(found)
		visit(found, shapes.Messages)
	}
	if err := json.NewEncoder(os.Stdout).Encode(shapes); err != nil {
		log.Fatal(err)
	}
}

func nameOf(kind reflect.Type) string { return kind.PkgPath() + "." + kind.Name() }

// visit records a message and every message that it reaches.
func visit(kind reflect.Type, messages map[string]map[string]Field) {
	if _, seen := messages[nameOf(kind)]; seen {
		return
	}
	fields := map[string]Field{}
	messages[nameOf(kind)] = fields
	for number := range kind.NumField() {
		field := kind.Field(number)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue // the names of kind and version travel in the envelope
		}
		if _, err := strconv.Atoi(tag[1]); err != nil {
			log.Fatalf("%s.%s: %v", nameOf(kind), field.Name, err)
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[tag[1]] = shape(name, field.Type, messages)
	}
}

func shape(name string, kind reflect.Type, messages map[string]map[string]Field) Field {
	switch {
	case kind.Kind() == reflect.Pointer:
		return shape(name, kind.Elem(), messages)
	case kind.Kind() == reflect.Map:
		return Field{Name: name, Type: typeOf(kind.Elem(), messages), Map: true}
	case kind.Kind() == reflect.Slice && kind.Elem().Kind() != reflect.Uint8 && !isMessage(kind):
		return Field{Name: name, Type: typeOf(kind.Elem(), messages), Repeated: true}
	}
	return Field{Name: name, Type: typeOf(kind, messages)}
}

func isMessage(kind reflect.Type) bool {
	_, ok := reflect.New(kind).Interface().(interface{ Unmarshal([]byte) error })
	return ok
}

func typeOf(kind reflect.Type, messages map[string]map[string]Field) string {
	if kind.Kind() == reflect.Pointer {
		return typeOf(kind.Elem(), messages)
	}
	switch kind.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Uint8:
		return "int"
	case reflect.Float64:
		return "double"
	case reflect.Struct:
		visit(kind, messages)
		return nameOf(kind)
	case reflect.Slice:
		if kind.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if kind.Elem().Kind() == reflect.String { // a named list is a message around a list
			return "strings"
		}
	}
	log.Fatalf("no shape for %s", kind)
	return ""
}
