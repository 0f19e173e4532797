package main

// exceptions lists rules in the published schemas that an API server does not enforce for a new object. The keys are
// type and field, without io.k8s.api.; the values give the reason.
type exceptions struct {
	// notRequired lists required fields that may be missing.
	notRequired map[string]string
	// notChecked lists kinds, and fields including everything below them, that are not checked.
	notChecked map[string]string
}

// ofKubernetes returns the exceptions for Kubernetes. When you raise the version of k8s.io/api, check them: the rules
// are in Kubernetes' pkg/apis/*/validation, and the PrepareForCreate functions in pkg/registry/* drop fields. A create
// request with dryRun=All to an API server gives the same answer.
func ofKubernetes() exceptions {
	return exceptions{
		// The values say how an API server treats the missing field. A schema requires a field if Go always encodes it,
		// even if it is empty. This does not mean that anything needs it.
		notRequired: map[string]string{
			"batch.v1.PodFailurePolicy.rules":                 "a policy without rules fails no pod",
			"core.v1.HTTPHeader.value":                        "an empty header",
			"core.v1.ISCSIPersistentVolumeSource.lun":         "0 is a unit",
			"core.v1.ISCSIVolumeSource.lun":                   "0 is a unit",
			"core.v1.LimitRangeSpec.limits":                   "no limits",
			"core.v1.PreferredSchedulingTerm.preference":      "a preference for nothing",
			"core.v1.ScaleIOPersistentVolumeSource.secretRef": "only the volume's driver reads it",
			"core.v1.ScaleIOVolumeSource.secretRef":           "only the volume's driver reads it",
			"core.v1.SleepAction.seconds":                     "0 is allowed",
			"core.v1.Sysctl.value":                            "an empty value",
			"discovery.v1.ForZone.name":                       "names of zones are not checked",
			"resource.v1.Counter.value":                       "0 is a quantity",
			"resource.v1.DeviceCapacity.value":                "0 is a quantity",
			"resource.v1.ResourcePool.generation":             "0 is a generation",
			"storage.v1.CSIDriver.spec":                       "everything in it has a default",
			"storage.v1.CSINode.spec":                         "no drivers",
			"storage.v1.CSINodeSpec.drivers":                  "no drivers",
			"storage.v1.TokenRequest.audience":                "the audience of the API server",

			"io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource.group": "the core group has no name",
		},
		// The values say what happens to the object or the field.
		notChecked: map[string]string{
			"authentication.v1.TokenReview":             "a request that is not stored",
			"authorization.v1.LocalSubjectAccessReview": "a request that is not stored",
			"authorization.v1.SelfSubjectAccessReview":  "a request that is not stored",
			"authorization.v1.SelfSubjectRulesReview":   "a request that is not stored",
			"authorization.v1.SubjectAccessReview":      "a request that is not stored",
			"core.v1.Binding":                           "a request that is not stored",
			"core.v1.ComponentStatus":                   "cannot be created",
			"core.v1.Event":                             "expires by itself, and needs none of the required fields",
			"core.v1.RangeAllocation":                   "not served",
			"events.v1.Event":                           "expires by itself",

			"autoscaling.v2.MetricIdentifier.selector":           "the metrics server checks it",
			"core.v1.NodeSpec.configSource":                      "without effect since Kubernetes 1.24",
			"core.v1.PersistentVolumeClaimSpec.dataSource":       "dropped if the reference is incomplete",
			"storage.v1.VolumeAttachmentSource.inlineVolumeSpec": "a volume that was checked in its pod",

			// API servers drop these fields, including everything below them, unless a feature gate is on. The gates
			// are off by default in this version of k8s.io/api or in the previous one.
			"batch.v1.JobSpec.scheduling":                      "WorkloadWithJob",
			"core.v1.GRPCAction.mode":                          "GRPCContainerProbeTLS",
			"core.v1.HTTPGetAction.protocol":                   "H2CContainerProbe",
			"core.v1.Lifecycle.stopSignal":                     "ContainerStopSignals",
			"core.v1.PodSpec.evictionResponders":               "EvictionRequestAPI",
			"core.v1.VolumeProjection.clusterTrustBundle":      "ClusterTrustBundleProjection, until 1.37",
			"core.v1.VolumeProjection.podCertificate":          "PodCertificateRequest, until 1.37",
			"resource.v1.DeviceSubRequest.derivedAttributes":   "DRADerivedAttributes",
			"resource.v1.ExactDeviceRequest.derivedAttributes": "DRADerivedAttributes",
			"resource.v1.ResourceSliceSpec.skipNodeOperations": "DRAOptionalNodeOperations",
		},
	}
}
