// Command kindshapes prints what the Go types of Kubernetes' kinds know and OpenAPI does not say: whether a
// field's zero value is written, left out or told apart from "not given", the names that decoding errors use, and
// the order in which fields are written.
package main

import (
	"encoding/json"
	"log"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Field says how one JSON field of a struct is kept in Go.
type Field struct {
	Type      string `json:"type"` // as decoding errors name it, without pointers
	Pointer   bool   `json:"pointer,omitempty"`
	OmitEmpty bool   `json:"omitempty,omitempty"`
	OmitZero  bool   `json:"omitzero,omitempty"`
	Inline    string `json:"inline,omitempty"` // the embedded struct that holds it, as decoding errors name it
}

// Struct is one Go struct by the name of its OpenAPI model.
type Struct struct {
	Name   string           `json:"name"`
	Fields map[string]Field `json:"fields"`
	Order  []string         `json:"order"` // the names of the fields as they are written
}

type named interface{ OpenAPIModelName() string }

func main() {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme,
	} {
		if err := add(all); err != nil {
			log.Fatal(err)
		}
	}
	shapes := map[string]Struct{}
	for _, kind := range all.AllKnownTypes() {
		visit(kind, shapes)
	}
	if err := json.NewEncoder(os.Stdout).Encode(shapes); err != nil {
		log.Fatal(err)
	}
}

// visit records a struct type and every struct that it reaches.
func visit(kind reflect.Type, shapes map[string]Struct) {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice || kind.Kind() == reflect.Map {
		kind = kind.Elem()
	}
	if _, own := reflect.New(kind).Interface().(json.Unmarshaler); kind.Kind() != reflect.Struct || own {
		return // what reads itself has no fields of its own in JSON
	}
	model, ok := reflect.New(kind).Interface().(named)
	if !ok {
		return
	}
	if _, seen := shapes[model.OpenAPIModelName()]; seen {
		return
	}
	found := Struct{Name: kind.Name(), Fields: map[string]Field{}}
	shapes[model.OpenAPIModelName()] = found
	collect(kind, "", &found, shapes)
	shapes[model.OpenAPIModelName()] = found
}

// collect adds the JSON fields of a struct, those of embedded structs included.
func collect(kind reflect.Type, inside string, found *Struct, shapes map[string]Struct) {
	for number := range kind.NumField() {
		field := kind.Field(number)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		if name == "" && field.Anonymous {
			collect(field.Type, strings.TrimPrefix(inside+"."+field.Name, "."), found, shapes)
			continue
		}
		plain := field.Type
		if plain.Kind() == reflect.Pointer {
			plain = plain.Elem()
		}
		found.Order = append(found.Order, name)
		found.Fields[name] = Field{
			Type:      plain.String(),
			Pointer:   field.Type.Kind() == reflect.Pointer,
			OmitEmpty: strings.Contains(options, "omitempty"),
			OmitZero:  strings.Contains(options, "omitzero"),
			Inline:    inside,
		}
		visit(field.Type, shapes)
	}
}
