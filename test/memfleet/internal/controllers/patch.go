package controllers

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// patch changes the metadata of the object that was read, and of no later one.
func patch(ctx context.Context, client metadata.ResourceInterface, live *metav1.PartialObjectMetadata, change map[string]any) error {
	change["uid"], change["resourceVersion"] = live.UID, live.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": change})
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	_, err = client.Patch(ctx, live.Name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
