export declare function chromiumPaths(): string[]
