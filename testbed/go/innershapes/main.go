// Command innershapes prints what Kubernetes' messages and decoders know and its API does not show: the types in
// which the server holds some kinds inside, by the fields that users write, and the kinds of versions that it can
// still read but serves no longer.
package main

import (
	"encoding/json"
	"log"
	"os"
	"reflect"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/apis/core"
)

// Field is one field as JSON of the inner type has it.
type Field struct {
	Name      string `json:"name"`
	From      string `json:"from"`           // where users write it; a leading ^ means beside the struct, not in it
	Type      Type   `json:"type"`           // what it holds
	OmitEmpty bool   `json:"omit,omitempty"` // left out when empty
	Made      bool   `json:"made,omitempty"` // never absent inside, whatever users wrote
}

// Type is a struct by its name, or a list, map or pointer of another type, or a value that stands for itself.
type Type struct {
	Kind string `json:"kind"` // struct, list, map, pointer, string, number, bool, quantity, self
	Name string `json:"name,omitempty"`
	Of   *Type  `json:"of,omitempty"`
}

// beside holds what users write in a pod's spec and the server holds in its security context.
var beside = map[string]bool{
	"HostNetwork": true, "HostPID": true, "HostIPC": true, "ShareProcessNamespace": true, "HostUsers": true,
}

func main() {
	types := map[string][]Field{}
	for inner, outer := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[core.PodSpec]():                   reflect.TypeFor[corev1.PodSpec](),
		reflect.TypeFor[core.PodTemplateSpec]():           reflect.TypeFor[corev1.PodTemplateSpec](),
		reflect.TypeFor[core.PersistentVolumeClaimSpec](): reflect.TypeFor[corev1.PersistentVolumeClaimSpec](),
		reflect.TypeFor[core.PersistentVolumeSource]():    reflect.TypeFor[corev1.PersistentVolumeSource](),
	} {
		visit(inner, outer, types)
	}
	kinds := map[string][]string{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		version := kind.GroupVersion().String()
		kinds[version] = append(kinds[version], kind.Kind)
	}
	for _, names := range kinds {
		sort.Strings(names)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"types": types, "kinds": kinds}); err != nil {
		log.Fatal(err)
	}
}

// visit records an inner struct, beside the struct that users write, and everything that it reaches.
func visit(inner, outer reflect.Type, types map[string][]Field) {
	if _, seen := types[inner.Name()]; seen {
		return
	}
	types[inner.Name()] = nil
	types[inner.Name()] = collect(inner, fieldsOf(outer, "", map[string]written{}), inner.Name(), types)
}

// written is a field that users write: its path and its type.
type written struct {
	path string
	kind reflect.Type
}

// fieldsOf adds the fields of a struct by their Go names, those of embedded structs included.
func fieldsOf(outer reflect.Type, base string, found map[string]written) map[string]written {
	for number := range outer.NumField() {
		field := outer.Field(number)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Type == reflect.TypeFor[metav1.ObjectMeta]():
			fieldsOf(field.Type, "metadata.", found)
		case field.Anonymous:
			fieldsOf(field.Type, base, found)
		default:
			found[field.Name] = written{base + name, field.Type}
		}
	}
	return found
}

func collect(inner reflect.Type, outer map[string]written, owner string, types map[string][]Field) []Field {
	fields := []Field{}
	for number := range inner.NumField() {
		field := inner.Field(number)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			fields = append(fields, collect(field.Type, outer, owner, types)...)
			continue
		}
		if name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		fields = append(fields, fieldOf(field, name, strings.Contains(options, "omitempty"), outer, owner, types))
	}
	return fields
}

func fieldOf(
	field reflect.StructField, name string, omit bool,
	outer map[string]written, owner string, types map[string][]Field,
) Field {
	if owner == "PodSecurityContext" && beside[field.Name] {
		from := strings.ToLower(field.Name[:1]) + field.Name[1:]
		return Field{Name: name, From: "^" + from, Type: typeOf(field.Type, field.Type, types)}
	}
	given, known := outer[field.Name]
	if !known {
		log.Fatalf("users cannot write %s.%s", owner, field.Name)
	}
	made := owner == "PodSpec" && field.Name == "SecurityContext"
	return Field{Name: name, From: given.path, Type: typeOf(field.Type, given.kind, types), OmitEmpty: omit, Made: made}
}

// typeOf says what an inner type holds; a type that writes itself stands for itself.
func typeOf(inner, outer reflect.Type, types map[string][]Field) Type {
	if inner.Kind() == reflect.Pointer {
		if outer.Kind() == reflect.Pointer {
			outer = outer.Elem()
		}
		below := typeOf(inner.Elem(), outer, types)
		return Type{Kind: "pointer", Of: &below}
	}
	if outer.Kind() == reflect.Pointer {
		outer = outer.Elem()
	}
	if inner.String() == "resource.Quantity" {
		return Type{Kind: "quantity"}
	}
	if _, own := reflect.New(inner).Interface().(json.Marshaler); own {
		return Type{Kind: "self"}
	}
	switch inner.Kind() {
	case reflect.Struct:
		visit(inner, outer, types)
		return Type{Kind: "struct", Name: inner.Name()}
	case reflect.Slice, reflect.Map:
		below := typeOf(inner.Elem(), outer.Elem(), types)
		kind := map[reflect.Kind]string{reflect.Slice: "list", reflect.Map: "map"}[inner.Kind()]
		return Type{Kind: kind, Of: &below}
	case reflect.String:
		return Type{Kind: "string"}
	case reflect.Bool:
		return Type{Kind: "bool"}
	default:
		return Type{Kind: "number"}
	}
}
